#include "schedule/file/schedule_file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "schedule/backward_parts.h"
#include "schedule/check/problem.h"
#include "schedule/file/infer_placement.h"
#include "schedule/file/schedule_cell.h"
#include "schedule/plan.h"
#include "trace/error.h"
#include "trace/text/fit_to_print.h"

namespace pipetrace {
namespace {

/// The part of a plan that the cells of a schedule file cannot hold, from a comment such as `# name
/// = PipeDream, update_every = 1, double_buffered = 1`. The keys ranks and micro_batches are the
/// numbers that the plan should have, so that work missing at its end shows. The other keys are
/// name, update_every, double_buffered (0 or 1), credits (Plan::credits), ranks_of_stage
/// (toText(Placement::ranksOfStage)), run and replicas.
///
/// update_every is a number, or one for each stage with commas between them. It is 0 where weights
/// change once, after all micro-batches.
///
/// Older files have rank_of_stage and rank_of_stage_reversed (ranks with blanks between them), and
/// first_reversed: from that micro-batch on the stages run where the second list says. A value that
/// holds
/// ", " or begins with '"' stands in double quotes, with \" and \\ in it.
struct PlanHeader {
  std::optional<std::string> name;
  std::optional<int> ranks;
  std::optional<int> microBatches;
  std::optional<std::vector<int>> updateEvery;
  std::optional<bool> doubleBuffered;
  std::optional<int> credits;
  std::optional<std::vector<std::vector<int>>> ranksOfStage;
  std::optional<int> run;
  std::optional<int> replicas;
  std::optional<std::vector<int>> rankOfStage;
  std::optional<std::vector<int>> rankOfStageReversed;
  std::optional<int> firstReversed;

  /// Adds the fields of a comment (without its '#'). A comment whose first field is none of the
  /// keys is an ordinary one and adds nothing. Returns a description of what is wrong; empty:
  /// nothing.
  std::string read(std::string_view comment);

  /// Sets the fields that are given. Returns a description of what is wrong; empty: nothing.
  /// Sets `hasWrongRanks` where that is the ranks of stages.
  std::string applyTo(Plan& plan, bool& hasWrongRanks) const;

 private:
  std::string place(Plan& plan) const;
};

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

/// Without blanks, tabs and carriage returns at its ends.
std::string_view withoutBlanks(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r";
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

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
  Field field{.key = std::string(withoutBlanks(rest.substr(0, sign)))};
  rest = withoutBlanks(rest.substr(sign + 1));
  if (rest.starts_with('"')) {
    auto value = takeQuoted(rest);
    if (!value) return {};
    field.value = std::move(*value);
  } else {
    const std::size_t end = std::min(rest.find(", "), rest.size());
    field.value = withoutBlanks(rest.substr(0, end));
    rest.remove_prefix(end);
  }
  rest = withoutBlanks(rest);
  if (!rest.empty() && !rest.starts_with(',')) return {};
  if (!rest.empty()) rest = withoutBlanks(rest.substr(1));
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
    text = withoutBlanks(text);
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

std::string PlanHeader::read(std::string_view comment) {
  std::string_view rest = withoutBlanks(comment);
  const std::size_t sign = rest.find('=');
  if (sign == std::string_view::npos || !isKey(withoutBlanks(rest.substr(0, sign)))) return "";
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

/// The header line that `plan` needs for its cells to read back as it is, with its name and
/// newline; empty: none.
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
  const bool isPlain = withoutBlanks(plan.name) == plan.name &&
                       plan.name.find_first_of("\",\r\n") == std::string::npos;
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

constexpr std::size_t kShownErrors = 10;

/// The cell as an error message shows it: short, and without bytes that upset a terminal.
std::string shown(std::string_view cell) {
  constexpr std::size_t kLongest = 40;
  return "\"" + fitInLine(cell.substr(0, kLongest)) + (cell.size() > kLongest ? "…" : "") + "\"";
}

class Reading {
 public:
  Reading(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  ReadablePlan run() {
    if (text_.starts_with("\xef\xbb\xbf")) text_.remove_prefix(3);
    for (std::size_t line = 1; !text_.empty(); ++line) {
      const std::size_t end = std::min(text_.find('\n'), text_.size());
      readRow(text_.substr(0, end), line);
      text_.remove_prefix(std::min(end + 1, text_.size()));
    }
    if (actionCount_ == 0 && problems_.empty()) {
      throw Error(name_ + ": no actions; a schedule file has one row a rank with cells as 0F0,0B0");
    }
    plan_.name = name_;
    if (isOldNotation()) {
      giveInputHalves();
      plan_.name += " (torch's old notation: B is the input half)";
    }
    plan_ = withPartCounts(std::move(plan_));
    inferPlacement(plan_);
    bool hasWrongRanks = false;
    const std::string wrong = header_.applyTo(plan_, hasWrongRanks);
    if (!wrong.empty()) fail(headerLine_, 1, {.message = wrong});
    return {std::move(plan_), problems_.toVector(), hasWrongRanks};
  }
  /// As the text of an Error.
  std::string errors() const {
    std::string text;
    for (const Problem& problem : problems_.toVector(kShownErrors)) {
      if (!text.empty()) text += '\n';
      if (problem.line > 0) {
        text += name_ + ":" + std::to_string(problem.line) + ":" + std::to_string(problem.column) +
                ": ";
      }
      text += toText(problem);
    }
    return text;
  }

 private:
  void readRow(std::string_view row, std::size_t line) {
    if (row.starts_with('#')) return readComment(row.substr(1), line);
    // Empty lines may end a file, but a row in between is a rank.
    if (withoutBlanks(row).empty()) {
      if (emptyLine_ == 0) emptyLine_ = line;
      return;
    }
    if (emptyLine_ != 0) failRank(std::exchange(emptyLine_, 0), plan_.numRanks());
    plan_.ranks.emplace_back();
    cell_ = 0;
    hasWork_ = false;
    for (std::size_t begin = 0; begin <= row.size();) {
      const std::size_t end = std::min(row.find(',', begin), row.size());
      readCell(row.substr(begin, end - begin), line, begin + 1);
      begin = end + 1;
    }
    if (!hasWork_) failRank(line, plan_.numRanks() - 1);
  }

  void readComment(std::string_view comment, std::size_t line) {
    const std::string wrong = header_.read(comment);
    if (!wrong.empty()) fail(line, 1, {.message = wrong});
    if (headerLine_ == 0) headerLine_ = line;
  }

  void failRank(std::size_t line, int rank) {
    fail(line, 1, {.rank = rank, .message = "a rank without actions"});
  }

  void readCell(std::string_view raw, std::size_t line, std::size_t column) {
    const std::string_view cell = withoutBlanks(raw);
    if (cell.empty()) return;
    auto action = parseAction(cell);
    if (!action) {
      action = wholeBackwardOf(cell);
      if (action) wholeBackwards_.insert({action->stage, action->microBatch});
    }
    const int number = cell_++;
    if (action && isDataParallel(action->kind)) return plan_.ranks.back().push_back(*action);
    hasWork_ = true;
    if (!action) {
      plan_.ranks.back().push_back({JobKind::kForward, -1, -1});
      if (problems_.count() >= static_cast<std::int64_t>(ProblemList::kMost)) {
        return problems_.add(Problem{});  // counted only
      }
      column += static_cast<std::size_t>(cell.data() - raw.data());
      fail(line, column,
           {plan_.numRanks() - 1, number,
            shown(cell) +
                " is no action; cells look like 0F3, 0B3, 0I3, 0W3, 0R3, (0F3;1B2)OVERLAP_F_B, "
                "0SEND_F3 and 1RECV_F3"});
      return;
    }
    ++actionCount_;
    plan_.numStages = std::max({plan_.numStages, action->stage + 1, action->backwardStage + 1});
    plan_.numMicroBatches =
        std::max({plan_.numMicroBatches, action->microBatch + 1, action->backwardMicroBatch + 1});
    plan_.ranks.back().push_back(*action);
  }

  /// "0BW3", as torch wrote a whole backward pass while B was its input half.
  static std::optional<Action> wholeBackwardOf(std::string_view cell) {
    constexpr std::string_view kWhole = "BW";
    const std::size_t at = cell.find(kWhole);
    if (at == std::string_view::npos) return std::nullopt;
    std::string text(cell);
    text.erase(at + 1, 1);
    const auto action = parseAction(text);
    return action && action->kind == JobKind::kBackward ? action : std::nullopt;
  }

  /// Whether B is the input half: some whole backward passes are called BW; or there is no I, and
  /// each B has a W, which would be done twice.
  bool isOldNotation() const {
    if (!wholeBackwards_.empty()) return true;
    std::set<std::pair<int, int>> backwards;  // stage, micro-batch
    std::set<std::pair<int, int>> weightHalves;
    for (const auto& row : plan_.ranks) {
      for (const Action& action : row) {
        if (action.kind == JobKind::kBackwardInput) return false;
        if (action.kind == JobKind::kForwardBackward) return false;
        if (action.kind == JobKind::kBackward) backwards.insert({action.stage, action.microBatch});
        if (action.kind == JobKind::kBackwardWeight) {
          weightHalves.insert({action.stage, action.microBatch});
        }
      }
    }
    return !backwards.empty() && backwards == weightHalves;
  }

  void giveInputHalves() {
    for (auto& row : plan_.ranks) {
      for (Action& action : row) {
        if (action.kind != JobKind::kBackward) continue;
        if (wholeBackwards_.contains({action.stage, action.microBatch})) continue;
        action.kind = JobKind::kBackwardInput;
      }
    }
  }

  void fail(std::size_t line, std::size_t column, Problem problem) {
    problem.line = static_cast<std::int64_t>(line);
    problem.column = static_cast<std::int64_t>(column);
    problems_.add(std::move(problem));
  }

  std::string_view text_;
  const std::string& name_;
  Plan plan_;
  PlanHeader header_;
  std::size_t headerLine_ = 0;  // the first comment
  int cell_ = 0;                // cells of the row that are not blank
  bool hasWork_ = false;        // the row has a cell that is not data-parallel
  std::size_t actionCount_ = 0;
  std::set<std::pair<int, int>> wholeBackwards_;  // stage and micro-batch of cells like 0BW3
  std::size_t emptyLine_ = 0;                     // the first of those passed over; 0: none
  ProblemList problems_;
};

std::string nameOf(const std::string& path) { return path == "-" ? "standard input" : path; }

std::string textOf(const std::string& path) {
  const std::string name = nameOf(path);
  const auto refuse = [&] {
    throw Error(name + " is larger than " + std::to_string(kLargestScheduleFile >> 20) +
                " MiB: that is no schedule file");
  };
  std::error_code error;
  if (path != "-" && std::filesystem::is_directory(path, error)) {
    throw Error("cannot read the schedule file " + name + ": it is a folder");
  }
  if (path != "-" && std::filesystem::is_regular_file(path, error) &&
      static_cast<std::int64_t>(std::filesystem::file_size(path, error)) > kLargestScheduleFile) {
    refuse();
  }
  std::ifstream file;
  errno = 0;
  if (path != "-") file.open(path, std::ios::binary);
  std::istream& in = path == "-" ? std::cin : file;
  if (!in) throw Error("cannot read the schedule file " + name + ": " + std::strerror(errno));
  // A pipe does not say how long it is.
  std::string text;
  std::string block(std::size_t{1} << 20, '\0');
  while (in.read(block.data(), static_cast<std::streamsize>(block.size())) || in.gcount() > 0) {
    text.append(block, 0, static_cast<std::size_t>(in.gcount()));
    if (static_cast<std::int64_t>(text.size()) > kLargestScheduleFile) refuse();
  }
  if (in.bad()) throw Error("cannot read the schedule file " + name + ": " + std::strerror(errno));
  return text;
}

}  // namespace

Plan readPlan(std::string_view text, const std::string& name) {
  Reading reading(text, name);
  ReadablePlan result = reading.run();
  if (!result.problems.empty()) throw Error(reading.errors());
  return std::move(result.plan);
}

ReadablePlan readReadable(std::string_view text, const std::string& name) {
  return Reading(text, name).run();
}

Plan readScheduleFile(const std::string& path) { return readPlan(textOf(path), nameOf(path)); }

ReadablePlan readReadableFile(const std::string& path) {
  return readReadable(textOf(path), nameOf(path));
}

std::string toCsv(const Plan& plan) { return headerFor(plan) + rowsText(plan.ranks); }

std::string rowsText(const std::vector<std::vector<Action>>& rows) {
  std::string text;
  for (const auto& actions : rows) {
    const char* separator = "";
    for (const Action& action : actions) {
      text += separator + toText(action);
      separator = ",";
    }
    text += '\n';
  }
  return text;
}

std::vector<Problem> check(const ReadablePlan& file, const CheckOptions& options) {
  std::vector<Problem> problems = file.problems;
  if (file.plan.numStages == 0) return problems;  // not one cell could be read
  if (file.hasWrongRanks) return problems;        // all else depends on the ranks of stages
  const auto isUnreadable = [&](const Problem& problem) {
    if (problem.rank < 0 || problem.cell < 0) return false;
    return file.plan
               .ranks[static_cast<std::size_t>(problem.rank)]
                     [static_cast<std::size_t>(problem.cell)]
               .stage < 0;
  };
  for (const Problem& problem : check(file.plan, options)) {
    if (!isUnreadable(problem)) problems.push_back(problem);
  }
  return problems;
}

}  // namespace pipetrace
