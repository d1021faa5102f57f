#include "schedule/options/schedule_options.h"

#include <algorithm>
#include <utility>

#include "schedule/backward_parts.h"
#include "schedule/builders/stage_ranks.h"
#include "schedule/forward_part.h"
#include "schedule/with_reductions.h"
#include "schedule/with_replicas.h"
#include "trace/error.h"
#include "trace/text/log_numbers.h"

namespace pipetrace {
namespace {

int countOf(const std::vector<std::vector<int>>& ranksOfStage) {
  std::size_t count = 0;
  for (const std::vector<int>& ofStage : ranksOfStage) count += ofStage.size();
  return static_cast<int>(count);
}

struct Setter {
  ScheduleOptions& options;
  const ScheduleOption& option;
  std::string_view text;

  void operator()(std::string ScheduleOptions::*field) const {
    if (text.empty() && !option.trained.mayBeEmpty) throw Error("it is empty");
    options.*field = text;
  }
  void operator()(bool ScheduleOptions::*field) const { options.*field = truthIn(text); }
  void operator()(std::optional<int> ScheduleOptions::*field) const {
    const int least = option.trained.least;
    const std::optional<int> number = parseNumber<int>(text);
    if (!number || *number < least) {
      throw Error("it is no number from " + std::to_string(least) + " on");
    }
    options.*field = number;
  }
};

// Every field has a row: this takes each of the fields apart, and there are as many rows.
[[maybe_unused]] void takeApart(const ScheduleOptions& options) {
  [[maybe_unused]] const auto& [a, b, c, d, e, f, g, h, i, j, k, l] = options;
  static_assert(kScheduleOptions.size() == 12);
}

}  // namespace

std::string helpOf(const OptionFace& face) {
  std::string text;
  if (face.help != nullptr) {
    text = face.help;
  } else {
    for (const std::string& word : face.words()) text += (text.empty() ? "" : ", ") + word;
  }
  const auto fill = [&](std::string_view place, std::string (*names)()) {
    if (const std::size_t at = text.find(place); at != std::string::npos) {
      text.replace(at, place.size(), names());
    }
  };
  fill("@stage-ranks", schedulesOnStageRanks);
  fill("@depths", schedulesWithDepths);
  return text;
}

std::string_view ScheduleOptions::scheduleName() const {
  return schedule.empty() ? std::string_view(schedules::kDefault) : std::string_view(schedule);
}

PlanSize ScheduleOptions::size() const {
  const int count = stageRanks.empty() ? ranks.value_or(1) : countOf(stageRanksOption(stageRanks));
  return {count, microBatches.value_or(1), chunks.value_or(0)};
}

void ScheduleOptions::requireSize() const {
  scheduleInfo(schedule);  // an unknown name is reported before a missing size
  if ((ranks || !stageRanks.empty()) && microBatches) return;
  if (!stageRanks.empty()) {
    throw Error("--schedule " + schedule + " needs --micro-batches M");
  }
  throw Error("--schedule " + schedule + " needs --ranks P and --micro-batches M; " +
              (ranks          ? "--micro-batches is"
               : microBatches ? "--ranks is"
                              : "both are") +
              " missing");
}

Plan ScheduleOptions::build(const AutoInput& input) const {
  if (stageRanks.empty() && stageDepths.empty()) {
    return buildSchedule(scheduleName(), size(), input);
  }
  const StageMap map = stageMapOptions(stageRanks, stageDepths, ranks.value_or(1));
  return buildOnStageRanks(scheduleName(), map.ranks, microBatches.value_or(1), map.depths);
}

void ScheduleOptions::change(Plan& plan) const {
  if (forwardOnly) plan = forwardPart(plan);
  if (credits) plan.credits = *credits;
  if (replicas) plan = withReplicas(std::move(plan), *replicas);
}

void ScheduleOptions::cutGradients(Plan& plan) const {
  if (lastBackwardParts) plan = withLastBackwardParts(std::move(plan), *lastBackwardParts);
  if (buckets) plan = withReductions(std::move(plan), *buckets);
}

std::vector<std::string> trainableSchedules() {
  std::vector<std::string> names;
  for (const ScheduleInfo& info : knownSchedules()) {
    if (!info.isForwardOnly) names.emplace_back(info.name);
  }
  return names;
}

std::vector<std::string> keysOf(const ScheduleOption& option) {
  std::vector<std::string> keys;
  if (option.trained.names == nullptr) return keys;
  for (const char* const names : {option.trained.names, option.planned.names}) {
    std::string_view rest = names == nullptr ? "" : names;
    while (!rest.empty()) {
      const std::size_t comma = std::min(rest.find(','), rest.size());
      std::string key(rest.substr(0, comma));
      key.erase(0, key.find_first_not_of('-'));
      std::replace(key.begin(), key.end(), '-', '_');
      if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(std::move(key));
      rest.remove_prefix(std::min(comma + 1, rest.size()));
    }
  }
  return keys;
}

bool takesFile(const ScheduleOption& option) {
  const char* const value = option.planned.value;
  return value != nullptr && std::string_view(value).starts_with("FILE");
}

bool truthIn(std::string_view text) {
  if (text == "true" || text == "True" || text == "1") return true;
  if (text == "false" || text == "False" || text == "0") return false;
  throw Error("it is neither true nor false");
}

void setFromText(ScheduleOptions& options, const ScheduleOption& option, std::string_view text) {
  std::visit(Setter{options, option, text}, option.field);
}

void takeUsual(ScheduleOptions& options) {
  const auto isGiven = [&](const ScheduleOption& option) {
    if (const auto* const text = std::get_if<std::string ScheduleOptions::*>(&option.field)) {
      return !(options.**text).empty();
    }
    const auto* const number = std::get_if<std::optional<int> ScheduleOptions::*>(&option.field);
    return number != nullptr && (options.**number).has_value();
  };
  for (const ScheduleOption& option : kScheduleOptions) {
    if (option.trained.usual != nullptr && !isGiven(option)) {
      setFromText(options, option, option.trained.usual);
    }
  }
}

}  // namespace pipetrace
