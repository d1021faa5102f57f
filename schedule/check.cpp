#include "schedule/check.h"

#include <algorithm>
#include <string>

#include "schedule/plan_index.h"
#include "schedule/plan_order.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

std::string place(PlanIndex::Position position) {
  return "rank " + std::to_string(position.rank) + ", cell " + std::to_string(position.cell);
}

void findMisplaced(const Schedule& schedule, std::vector<Problem>& problems) {
  const auto inRange = [&](int stage, int microBatch) {
    return stage >= 0 && stage < schedule.numStages && microBatch >= 0 &&
           microBatch < schedule.numMicroBatches;
  };
  for (int rank = 0; rank < schedule.numRanks(); ++rank) {
    const auto& actions = schedule.ranks[static_cast<std::size_t>(rank)];
    for (std::size_t i = 0; i < actions.size(); ++i) {
      const Action& action = actions[i];
      const auto examine = [&](int stage, int microBatch) {
        if (!inRange(stage, microBatch)) return;
        const int owner = schedule.rankOf(stage, microBatch);
        if (owner == rank) return;
        const std::string of =
            schedule.isBidirectional() ? " of micro-batch " + std::to_string(microBatch) : "";
        problems.push_back({rank, static_cast<int>(i),
                            toText(action) + " is on the wrong rank: stage " +
                                std::to_string(stage) + of + " belongs to rank " +
                                std::to_string(owner)});
      };
      examine(action.stage, action.microBatch);
      if (action.kind == JobKind::kForwardBackward) {
        examine(action.backwardStage, action.backwardMicroBatch);
      }
    }
  }
}

void findTooEarly(const Schedule& schedule, const PlanIndex& index,
                  std::vector<Problem>& problems) {
  for (int rank = 0; rank < schedule.numRanks(); ++rank) {
    const auto& actions = schedule.ranks[static_cast<std::size_t>(rank)];
    for (std::size_t i = 0; i < actions.size(); ++i) {
      const int cell = static_cast<int>(i);
      for (const PlanIndex::Position& input : index.inputsOf(actions[i])) {
        if (input.rank != rank || input.cell < cell) continue;
        problems.push_back({rank, cell,
                            toText(actions[i]) + " comes before " + toText(index.at(input)) +
                                " (cell " + std::to_string(input.cell) + "), which it needs"});
      }
    }
  }
}

/// Follows from a stuck rank what each waits for until a rank repeats.
Problem cycleOf(const Schedule& schedule, const PlanIndex& index, const PlanOrder& order) {
  const auto stuckOn = [&](int rank) {
    return PlanIndex::Position{rank, order.done[static_cast<std::size_t>(rank)]};
  };
  const auto waitsFor = [&](PlanIndex::Position position) {
    for (const PlanIndex::Position& input : index.inputsOf(index.at(position))) {
      if (input.cell >= order.done[static_cast<std::size_t>(input.rank)]) return input;
    }
    return PlanIndex::Position{};
  };
  std::vector<int> seen(schedule.ranks.size(), 0);
  int rank = 0;
  while (stuckOn(rank).cell ==
         static_cast<int>(schedule.ranks[static_cast<std::size_t>(rank)].size())) {
    ++rank;
  }
  while (seen[static_cast<std::size_t>(rank)]++ == 0) rank = waitsFor(stuckOn(rank)).rank;

  const PlanIndex::Position first = stuckOn(rank);
  std::string text = "deadlock: ";
  PlanIndex::Position position = first;
  do {
    const PlanIndex::Position needed = waitsFor(position);
    text += toText(index.at(position)) + " (" + place(position) + ") waits for " +
            toText(index.at(needed)) + " (" + place(needed) + ")";
    position = stuckOn(needed.rank);
    if (position != needed) text += ", which comes after " + toText(index.at(position));
    text += "; ";
  } while (position != first);
  text += "that closes the cycle";
  return {first.rank, first.cell, text};
}

}  // namespace

std::vector<Problem> check(const Schedule& schedule) {
  const PlanIndex index(schedule);
  std::vector<Problem> problems = index.problems();
  if (index.isUsable()) findMisplaced(schedule, problems);
  findTooEarly(schedule, index, problems);
  if (!problems.empty()) return problems;
  const PlanOrder order = planOrder(schedule, index);
  if (!order.complete) problems.push_back(cycleOf(schedule, index, order));
  return problems;
}

void requireValid(const Schedule& schedule) {
  const std::vector<Problem> problems = check(schedule);
  if (problems.empty()) return;
  std::string text = "the schedule " + schedule.name + " cannot run:";
  constexpr std::size_t kShown = 20;
  for (std::size_t i = 0; i < std::min(problems.size(), kShown); ++i) {
    text += "\n  " + toText(problems[i]);
  }
  if (problems.size() > kShown) {
    text += "\n  and " + std::to_string(problems.size() - kShown) + " more";
  }
  throw Error(text);
}

}  // namespace pipetrace
