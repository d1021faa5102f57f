#include "schedule/check/check.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "schedule/add_transfers.h"
#include "schedule/check/deadlock.h"
#include "schedule/check/limit_problems.h"
#include "schedule/check/transfer_problems.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

void findMisplaced(const Schedule& schedule, const PlanIndex& index, ProblemList& problems) {
  for (int rank = 0; rank < schedule.numRanks(); ++rank) {
    const auto& actions = schedule.ranks[static_cast<std::size_t>(rank)];
    for (std::size_t i = 0; i < actions.size(); ++i) {
      const Action& action = actions[i];
      const auto examine = [&](int stage, int microBatch) {
        if (!index.inRange(stage, microBatch)) return;
        const int owner = schedule.rankOf(stage, microBatch);
        if (owner == rank) return;
        problems.add(rank, static_cast<int>(i), [&] {
          const std::string of =
              schedule.isBidirectional() ? " of micro-batch " + std::to_string(microBatch) : "";
          return toText(action) + " is on the wrong rank: stage " + std::to_string(stage) + of +
                 " belongs to rank " + std::to_string(owner);
        });
      };
      examine(action.stage, action.microBatch);
      if (action.kind == JobKind::kForwardBackward) {
        examine(action.backwardStage, action.backwardMicroBatch);
      }
    }
  }
}

/// "rank 3 is missing: the plan has 3 ranks, and 4 were asked for".
void compareSize(const std::string& what, const std::string& plural, int found, int asked,
                 ProblemList& problems) {
  if (asked <= 0 || found == asked) return;
  std::string text;
  if (found + 1 == asked) text = what + " " + std::to_string(found) + " is missing: ";
  if (found + 1 < asked) {
    text = plural + " " + std::to_string(found) + " to " + std::to_string(asked - 1) +
           " are missing: ";
  }
  text += "the plan has " + std::to_string(found) + " " + (found == 1 ? what : plural) + ", and " +
          std::to_string(asked) + (asked == 1 ? " was" : " were") + " asked for";
  problems.add({.message = std::move(text)});
}

void findTooEarly(const Schedule& schedule, const PlanIndex& index, ProblemList& problems) {
  const WaitRules rules(schedule, index);
  for (int rank = 0; rank < schedule.numRanks(); ++rank) {
    const auto& actions = schedule.ranks[static_cast<std::size_t>(rank)];
    for (std::size_t i = 0; i < actions.size(); ++i) {
      const int cell = static_cast<int>(i);
      for (const WaitRules::Wait& wait : rules.waitsOf({rank, cell})) {
        const PlanIndex::Position input = wait.position;
        if (input.rank != rank || input.cell < cell) continue;
        problems.add(rank, cell, [&] {
          return toText(actions[i]) + " comes before " + toText(index.at(input)) + " (cell " +
                 std::to_string(input.cell) + "), which it needs";
        });
      }
    }
  }
}

std::optional<Problem> deadlockOf(const Schedule& schedule, const PlanIndex& index, int buffers) {
  if (index.hasTransfers() || buffers == kUnboundedBuffers) {
    return findDeadlock(schedule, index, buffers);
  }
  if (auto problem = findDeadlock(schedule, index, kUnboundedBuffers)) return problem;
  // A plan that needs weights too early is told so elsewhere, and has no transfers to stop at.
  if (!limitProblems(schedule, {}).empty()) return {};
  const Schedule full = addTransfers(schedule, {.credits = 0});
  return findDeadlock(full, PlanIndex(full), buffers, true);
}

ProblemList problemsOf(const Schedule& schedule, const CheckOptions& options) {
  const PlanIndex index(schedule);
  ProblemList problems;
  compareSize("rank", "ranks", schedule.numRanks(), options.ranks, problems);
  compareSize("micro-batch", "micro-batches", index.size().microBatches, options.microBatches,
              problems);
  const std::int64_t sizeProblems = problems.count();
  problems.append(index.problems());
  if (!index.isUsable()) return problems;
  findMisplaced(schedule, index, problems);
  problems.append(transferProblems(schedule, index));
  findTooEarly(schedule, index, problems);
  if (problems.count() == sizeProblems) {  // those of the size leave what is there able to run
    if (auto deadlock = deadlockOf(schedule, index, options.buffers)) problems.add(*deadlock);
  }
  if (index.problems().empty()) problems.append(limitProblems(schedule, options));
  return problems;
}

}  // namespace

std::vector<Problem> check(const Schedule& schedule, const CheckOptions& options) {
  return problemsOf(schedule, options).toVector();
}

std::vector<Problem> check(const ReadableSchedule& file, const CheckOptions& options) {
  std::vector<Problem> problems = file.problems;
  if (file.schedule.numStages == 0) return problems;  // not one cell could be read
  const auto isUnreadable = [&](const Problem& problem) {
    if (problem.rank < 0 || problem.cell < 0) return false;
    return file.schedule
               .ranks[static_cast<std::size_t>(problem.rank)]
                     [static_cast<std::size_t>(problem.cell)]
               .stage < 0;
  };
  for (const Problem& problem : check(file.schedule, options)) {
    if (!isUnreadable(problem)) problems.push_back(problem);
  }
  return problems;
}

void requireValid(const Schedule& schedule) {
  const ProblemList problems = problemsOf(schedule, {});
  if (problems.empty()) return;
  std::string text = "the schedule " + schedule.name + " cannot run:";
  constexpr std::size_t kShown = 20;
  for (const Problem& problem : problems.toVector(kShown)) text += "\n  " + toText(problem);
  throw Error(text);
}

}  // namespace pipetrace
