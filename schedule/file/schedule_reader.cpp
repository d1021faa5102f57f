#include "schedule/file/schedule_reader.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>
#include <set>
#include <utility>

#include "schedule/backward_parts.h"
#include "schedule/check/problem.h"
#include "schedule/file/infer_placement.h"
#include "schedule/file/plan_header.h"
#include "schedule/file/schedule_cell.h"
#include "trace/error.h"
#include "trace/text/fit_to_print.h"

namespace pipetrace {
namespace {

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
    if (trimmed(row).empty()) {
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
    const std::string_view cell = trimmed(raw);
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

}  // namespace pipetrace
