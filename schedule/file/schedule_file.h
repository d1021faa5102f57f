#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "schedule/check/check.h"
#include "schedule/check/problem.h"
#include "schedule/plan.h"

namespace pipetrace {

/// Reads a schedule file: one row a rank, one cell an action (toText(Action)). Blank cells carry no
/// meaning. Data-parallel cells (`UNSHARD`, `RESHARD`, `REDUCE_GRAD`) stay where they are, and say
/// nothing about the plan's size and places. A line that begins with '#' is a comment, not a rank;
/// it may hold what the cells cannot (PlanHeader). The rank of each stage follows from the actions
/// (inferPlacement()) unless a comment gives it. The plan's name is that in the comment, else
/// `name`.
///
/// torch wrote B for the input half of a backward pass, and BW for all of it, until pull request
/// 138886. Such a file is known by a BW, or by a W for each B and no I; its B are
/// read as I, and the plan's name says so.
///
/// Throws Error with `name:line:column: rank r, cell c: …` for every cell that is no action.
/// Columns are bytes; lines and columns are counted from 1, ranks and cells from 0, blank cells
/// aside. Also throws for a row without any but data-parallel actions, for a bad comment, and for a
/// text without any actions. check() decides whether the plan can run.
Plan readPlan(std::string_view text, const std::string& name);

/// The readable part of a schedule file, and the faults of the rest.
struct ReadablePlan {
  /// A cell that is no action is a forward pass of stage -1 here: the others keep their numbers.
  Plan plan;
  /// In the order of the file, each with its line and column: the first ProblemList::kMost, and a
  /// last one that counts the rest. Empty: `plan` is the one that readPlan() returns.
  std::vector<Problem> problems;
  /// Whether the header gives stages ranks that the plan cannot have. `plan` has those that its
  /// cells suggest.
  bool hasWrongRanks = false;
};

/// Like readPlan(), but reads on after a fault, so that the rest of a bad file can be checked too.
/// Throws only for a text without any cells.
ReadablePlan readReadable(std::string_view text, const std::string& name);

/// The largest file that readScheduleFile() takes: some ten times a plan of 64 ranks and 1024
/// micro-batches with all its sends and receives.
inline constexpr std::int64_t kLargestScheduleFile = std::int64_t{64} << 20;

/// Reads the file at `path`, "-": standard input. Throws Error as readPlan() does, for a file
/// that cannot be read, and for one that is larger than kLargestScheduleFile, without reading it.
Plan readScheduleFile(const std::string& path);
/// The same as readReadable(): throws for a file that cannot be read, or is too large or empty.
ReadablePlan readReadableFile(const std::string& path);

/// The plan as a schedule file (CSV): one row a rank, its actions in order. Name and other things
/// that the cells cannot hold (PlanHeader) stand in a comment before them, if there are any.
/// readPlan() reads it back.
std::string toCsv(const Plan& plan);
/// The rows alone, one of each rank.
std::string rowsText(const std::vector<std::vector<Action>>& rows);

/// check() of a file as far as it could be read: first the cells that could not be read, then the
/// faults of the rest.
std::vector<Problem> check(const ReadablePlan& file, const CheckOptions& options = {});

}  // namespace pipetrace
