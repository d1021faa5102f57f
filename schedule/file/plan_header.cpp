#include "schedule/file/plan_header.h"

#include <algorithm>

#include "schedule/file/infer_placement.h"
#include "schedule/file/schedule_cell.h"

namespace pipetrace {
namespace {

constexpr std::string_view kName = "name";
constexpr std::string_view kRanks = "ranks";
constexpr std::string_view kMicroBatches = "micro_batches";
constexpr std::string_view kUpdateEvery = "update_every";
constexpr std::string_view kDoubleBuffered = "double_buffered";
constexpr std::string_view kCredits = "credits";
constexpr std::string_view kRanksOfStage = "ranks_of_stage";
constexpr std::string_view kRun = "run";
constexpr std::string_view kReplicas = "replicas";
constexpr std::string_view kRankOfStage = "rank_of_stage";
constexpr std::string_view kRankOfStageReversed = "rank_of_stage_reversed";
constexpr std::string_view kFirstReversed = "first_reversed";

struct Field {
  std::string key;
  std::string value;
};

/// Takes `"…"` off the front; nothing if its end is missing.
std::optional<std::string> takeQuoted(std::string_view& rest) {
  std::string value;
  for (std::size_t i = 1; i < rest.size(); ++i) {
    if (rest[i] == '"') {
      rest.remove_prefix(i + 1);
      return value;
    }
    if (rest[i] == '\\' && i + 1 < rest.size()) ++i;
    value += rest[i];
  }
  return {};
}

std::optional<Field> takeField(std::string_view& rest) {
  const std::size_t sign = rest.find('=');
  if (sign == std::string_view::npos) return {};
  Field field{.key = std::string(trimmed(rest.substr(0, sign)))};
  rest = trimmed(rest.substr(sign + 1));
  if (rest.starts_with('"')) {
    auto value = takeQuoted(rest);
    if (!value) return {};
    field.value = std::move(*value);
  } else {
    const std::size_t end = std::min(rest.find(", "), rest.size());
    field.value = trimmed(rest.substr(0, end));
    rest.remove_prefix(end);
  }
  rest = trimmed(rest);
  if (!rest.empty() && !rest.starts_with(',')) return {};
  if (!rest.empty()) rest = trimmed(rest.substr(1));
  return field;
}

bool isKey(std::string_view key) {
  constexpr std::string_view kKeys[] = {
      kName,         kRanks, kMicroBatches, kUpdateEvery, kDoubleBuffered,      kCredits,
      kRanksOfStage, kRun,   kReplicas,     kRankOfStage, kRankOfStageReversed, kFirstReversed};
  return std::find(std::begin(kKeys), std::end(kKeys), key) != std::end(kKeys);
}

std::optional<int> number(std::string_view text) {
  const auto value = takeNumber(text);
  return text.empty() ? value : std::nullopt;
}

std::optional<std::vector<int>> numbers(std::string_view text) {
  std::vector<int> list;
  while (!text.empty()) {
    const auto value = takeNumber(text);
    if (!value || (!text.empty() && text.front() != ' ')) return {};
    list.push_back(*value);
    text = trimmed(text);
  }
  return list;
}

/// 0, or numbers from 1 on.
std::optional<std::vector<int>> updatesFrom(std::string_view text) {
  std::vector<int> list;
  do {
    if (!list.empty()) text.remove_prefix(1);
    const auto value = takeNumber(text);
    if (!value) return {};
    list.push_back(*value);
  } while (text.starts_with(','));
  const bool hasNone = std::find(list.begin(), list.end(), 0) != list.end();
  if (!text.empty() || (hasNone && list.size() > 1)) return {};
  return list;
}

std::string quotedValue(std::string_view value) {
  std::string text = "\"";
  for (const char c : value) {
    if (c == '"' || c == '\\') text += '\\';
    text += c == '\n' || c == '\r' ? ' ' : c;
  }
  return text + '"';
}

int microBatchesOf(const std::vector<std::vector<Action>>& ranks) {
  int count = 0;
  for (const auto& actions : ranks) {
    for (const Action& action : actions) {
      if (isDataParallel(action.kind)) continue;
      count = std::max({count, action.microBatch + 1, action.backwardMicroBatch + 1});
    }
  }
  return count;
}

}  // namespace

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r";
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

std::string PlanHeader::read(std::string_view comment) {
  std::string_view rest = trimmed(comment);
  const std::size_t sign = rest.find('=');
  if (sign == std::string_view::npos || !isKey(trimmed(rest.substr(0, sign)))) return "";
  while (!rest.empty()) {
    const auto field = takeField(rest);
    if (!field) return "a header has fields such as update_every = 1 with commas between them";
    const auto& [key, value] = *field;
    bool isGood = true;
    if (key == kName) {
      name = value;
      // Replaces the one character that would end the line in which the name is written.
      std::replace(name->begin(), name->end(), '\r', ' ');
    } else if (key == kRanks) {
      isGood = (ranks = number(value)).value_or(0) > 0;
    } else if (key == kMicroBatches) {
      isGood = (microBatches = number(value)).value_or(0) > 0;
    } else if (key == kUpdateEvery) {
      isGood = (updateEvery = updatesFrom(value)).has_value();
    } else if (key == kDoubleBuffered) {
      isGood = value == "0" || value == "1";
      doubleBuffered = value == "1";
    } else if (key == kCredits) {
      isGood = (credits = number(value)).has_value();
    } else if (key == kRanksOfStage) {
      isGood = !(ranksOfStage = ranksOfStageFrom(value))->empty();
    } else if (key == kRun) {
      const std::optional<int> given = number(value);
      isGood = given.value_or(0) > 0;
      if (isGood) run = given;
    } else if (key == kReplicas) {
      const std::optional<int> given = number(value);
      isGood = given.value_or(0) > 0;
      if (isGood) replicas = given;
    } else if (key == kRankOfStage) {
      isGood = (rankOfStage = numbers(value)).has_value();
    } else if (key == kRankOfStageReversed) {
      isGood = (rankOfStageReversed = numbers(value)).has_value();
    } else if (key == kFirstReversed) {
      isGood = (firstReversed = number(value)).has_value();
    } else {
      return "a header has no field of that name; it has name, ranks, micro_batches, "
             "update_every, double_buffered, credits, ranks_of_stage, run and replicas";
    }
    if (!isGood) return "that is no value of " + key;
  }
  return "";
}

/// The places that the header gives. Returns a description of what is wrong; empty: nothing.
std::string PlanHeader::place(Plan& plan) const {
  Placement places;
  if (ranksOfStage) {
    places.ranksOfStage = *ranksOfStage;
  } else if (rankOfStage) {
    places = Placement::ofRanks(*rankOfStage);
  } else {
    return "";
  }
  if (places.numStages() != static_cast<std::size_t>(plan.numStages) ||
      (rankOfStageReversed && rankOfStageReversed->size() != places.numStages())) {
    return "the header gives the ranks of " + std::to_string(places.numStages()) +
           " stages, and the plan has " + std::to_string(plan.numStages);
  }
  if (rankOfStageReversed) {
    for (std::size_t s = 0; s < places.numStages(); ++s) {
      places.ranksOfStage[s].push_back((*rankOfStageReversed)[s]);
    }
  }
  places.run = run.value_or(firstReversed.value_or(1));
  for (const std::vector<int>& ofStage : places.ranksOfStage) {
    for (const int rank : ofStage) {
      if (rank < plan.ranksOfReplica()) continue;
      const std::string many = std::to_string(plan.ranksOfReplica());
      return "the header speaks of rank " + std::to_string(rank) +
             (plan.replicas > 1 ? ", and a replica has " : ", and the plan has ") + many + " ranks";
    }
  }
  for (int rank = 0; rank < plan.ranksOfReplica(); ++rank) {
    const std::vector<Action>& row = plan.ranks[static_cast<std::size_t>(rank)];
    const auto first = std::find_if(row.begin(), row.end(), [](const Action& action) {
      return action.stage >= 0 && !isDataParallel(action.kind);
    });
    if (first == row.end() || places.hasRank(rank)) continue;
    return "the header leaves out rank " + std::to_string(rank) +
           ", whose row has actions of stage " + std::to_string(first->stage) +
           "; give that stage this rank, too";
  }
  if (firstReversed && *firstReversed < 2 && plan.numMicroBatches > 2 && rankOfStageReversed) {
    return "first_reversed is at least 2, or half of the micro-batches";
  }
  plan.placement = std::move(places);
  return "";
}

std::string PlanHeader::applyTo(Plan& plan, bool& hasWrongRanks) const {
  if (name) plan.name = *name;
  if (microBatches) plan.numMicroBatches = *microBatches;
  if (updateEvery && updateEvery->size() > 1 &&
      updateEvery->size() != static_cast<std::size_t>(plan.numStages)) {
    return "the header gives update_every for " + std::to_string(updateEvery->size()) +
           " stages, and the plan has " + std::to_string(plan.numStages);
  }
  if (updateEvery && updateEvery->front() == 0) plan.updates.every.clear();
  if (updateEvery && updateEvery->front() != 0) {
    plan.updates.every = updateEvery->size() == 1
                             ? WeightUpdates::alike(plan.numStages, updateEvery->front()).every
                             : *updateEvery;
  }
  if (doubleBuffered) plan.updates.doubleBuffered = *doubleBuffered;
  if (credits) plan.credits = *credits;
  const int parts = replicas.value_or(1);
  if (plan.numRanks() % parts != 0 || plan.numMicroBatches % parts != 0) {
    return "the header says replicas = " + std::to_string(parts) +
           ", which cannot have equal parts of the plan's " + std::to_string(plan.numRanks()) +
           " ranks and " + std::to_string(plan.numMicroBatches) + " micro-batches";
  }
  plan.replicas = parts;
  if (std::string wrong = place(plan); !wrong.empty()) {
    hasWrongRanks = true;
    return wrong;
  }
  if (!ranks || *ranks == plan.numRanks()) return "";
  const int found = plan.numRanks();
  return (found + 1 == *ranks ? "rank " + std::to_string(found) + " is missing: " : "") +
         "the header says ranks = " + std::to_string(*ranks) + ", and the file has " +
         std::to_string(found);
}

std::string headerFor(const Plan& plan) {
  // Readers infer from the cells alone.
  const int microBatches = microBatchesOf(plan.ranks);
  Plan inferred{.numStages = plan.numStages,
                .numMicroBatches = plan.numMicroBatches < 1 ? 0 : microBatches,
                .ranks = plan.ranks};
  inferPlacement(inferred);
  const bool samePlaces = inferred.placement == plan.placement && plan.replicas == 1;
  const bool sameSize = plan.numMicroBatches < 1 || plan.numMicroBatches == microBatches;
  if (samePlaces && sameSize && plan.updates == WeightUpdates{} && plan.credits == 0) return "";

  std::string text = "#";
  const auto add = [&](std::string_view key, const std::string& value) {
    text += (text.size() > 1 ? ", " : " ") + std::string(key) + " = " + value;
  };
  const bool isPlain =
      trimmed(plan.name) == plan.name && plan.name.find_first_of("\",\r\n") == std::string::npos;
  if (!plan.name.empty()) add(kName, isPlain ? plan.name : quotedValue(plan.name));
  if (!sameSize) add(kMicroBatches, std::to_string(plan.numMicroBatches));
  if (plan.updates != WeightUpdates{}) {
    const int every = plan.updates.ofAllStages();
    const bool isOneNumber = every > 0 || !plan.isAsynchronous();
    add(kUpdateEvery, isOneNumber ? std::to_string(every) : toText(plan.updates.every));
    add(kDoubleBuffered, plan.updates.doubleBuffered ? "1" : "0");
  }
  if (plan.credits != 0) add(kCredits, std::to_string(plan.credits));
  if (!samePlaces) add(kRanksOfStage, toText(plan.placement.ranksOfStage));
  if (!samePlaces && plan.placement.hasSeveralRanks())
    add(kRun, std::to_string(plan.placement.run));
  if (plan.replicas > 1) add(kReplicas, std::to_string(plan.replicas));
  return text + "\n";
}

}  // namespace pipetrace
