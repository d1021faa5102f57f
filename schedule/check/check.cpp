#include "schedule/check/check.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "schedule/add_transfers.h"
#include "schedule/check/deadlock.h"
#include "schedule/check/limit_problems.h"
#include "schedule/check/part_problems.h"
#include "schedule/check/transfer_problems.h"
#include "trace/error.h"
#include "trace/text/number_text.h"

namespace pipetrace {
namespace {

void findMisplaced(const Plan& plan, const PlanIndex& index, ProblemList& problems) {
  for (int rank = 0; rank < plan.numRanks(); ++rank) {
    const auto& actions = plan.ranks[static_cast<std::size_t>(rank)];
    for (std::size_t i = 0; i < actions.size(); ++i) {
      const Action& action = actions[i];
      if (isDataParallel(action.kind)) continue;
      const auto examine = [&](int stage, int microBatch) {
        if (!index.inRange(stage, microBatch)) return;
        const int owner = plan.rankOf(stage, microBatch);
        if (owner == rank) return;
        problems.add(rank, static_cast<int>(i), [&] {
          const std::string of = plan.replicas > 1 || plan.placement.hasSeveralRanks()
                                     ? " of micro-batch " + std::to_string(microBatch)
                                     : "";
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

/// AGREE is the last action of all ranks, or of none.
void findMisplacedScalarAllReduces(const Plan& plan, ProblemList& problems) {
  if (!plan.hasAny(isScalarAllReduce)) return;
  const std::string agree(kAgreeCell);
  if (plan.isAsynchronous() || plan.isForwardOnly()) {
    problems.add({.message = agree + (plan.isAsynchronous()
                                          ? " has no place in a plan without a flush"
                                          : " has no place in a plan without backward passes")});
    return;
  }
  for (int rank = 0; rank < plan.numRanks(); ++rank) {
    const auto& actions = plan.ranks[static_cast<std::size_t>(rank)];
    const auto last = static_cast<int>(actions.size()) - 1;
    for (int i = 0; i < last; ++i) {
      if (!isScalarAllReduce(actions[static_cast<std::size_t>(i)].kind)) continue;
      problems.add(rank, i, [&] { return agree + " comes before the rank's last action"; });
    }
    if (last >= 0 && isScalarAllReduce(actions[static_cast<std::size_t>(last)].kind)) continue;
    problems.add(rank, std::max(last, 0),
                 [&] { return agree + " is missing here: others wait for this rank"; });
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
  text += "the plan has " + countText(found, what, plural) + ", and " +
          countText(asked, "was", "were") + " asked for";
  problems.add({.message = std::move(text)});
}

void findTooEarly(const PlanNetwork& network, ProblemList& problems) {
  for (int number = 0; number < network.actionCount(); ++number) {
    const PlanIndex::Position at = network.positionOf(number);
    for (const PlanNetwork::Wait& wait : network.waits().waits(network.ofAction(number))) {
      if (wait.reason == WaitReason::kRank || !network.isAction(wait.source)) continue;
      const PlanIndex::Position input = network.positionOf(network.actionAt(wait.source));
      if (input.rank != at.rank || input.cell < at.cell) continue;
      problems.add(at.rank, at.cell, [&] {
        return toText(network.action(number)) + " comes before " +
               toText(network.action(network.numberOf(input))) + " (cell " +
               std::to_string(input.cell) + "), which it needs";
      });
    }
  }
}

/// A recompute is for the backward that comes after it.
void findLateRecomputes(const Plan& plan, const PlanIndex& index, ProblemList& problems) {
  for (int rank = 0; rank < plan.numRanks(); ++rank) {
    const auto& actions = plan.ranks[static_cast<std::size_t>(rank)];
    for (std::size_t i = 0; i < actions.size(); ++i) {
      if (actions[i].kind != JobKind::kRecompute) continue;
      const int cell = static_cast<int>(i);
      const PlanIndex::Position backward = index.backwardOf(actions[i]);
      if (backward.rank != rank || backward.cell > cell) continue;
      problems.add(rank, cell, [&] {
        return toText(actions[i]) + " comes after " + toText(index.at(backward)) + " (cell " +
               std::to_string(backward.cell) + "), which needs it";
      });
    }
  }
}

void findWrongSettings(const Plan& plan, ProblemList& problems) {
  if (plan.credits < 0) {
    problems.add({.message = "the plan has " + std::to_string(plan.credits) +
                             " credits; they are 1 or more, or 0 for any number"});
  }
  if (plan.isAsynchronous() && plan.isForwardOnly()) {
    problems.add({.message = "the plan has no backward passes, so its weights do not change: it "
                             "is not asynchronous"});
  }
}

void compareSizes(int ranks, int microBatches, const CheckOptions& options, ProblemList& problems) {
  compareSize("rank", "ranks", ranks, options.ranks, problems);
  compareSize("micro-batch", "micro-batches", microBatches, options.microBatches, problems);
}

std::optional<Problem> deadlockWith(const Plan& plan, const PlanIndex& index,
                                    const MessageRules& messages, bool hasCredits,
                                    bool ofComputeOnly = false) {
  PlanNetwork::Parts parts{.credits = hasCredits};
  WeightVersions versions;
  if (UpdateMeetings::exist(plan) && index.problems().empty() && !wrongUpdates(plan)) {
    versions = weightVersions(plan);
    parts.versions = &versions;
  }
  return findDeadlock(PlanNetwork(plan, index, messages, parts), ofComputeOnly);
}

/// Finds the deadlock of a plan that runs with unbounded buffers and any number of credits, but
/// not with fewer.
std::optional<Problem> boundedDeadlock(const Plan& plan, const PlanIndex& index,
                                       const MessageRules& messages) {
  if (index.hasTransfers()) return deadlockWith(plan, index, messages, true);
  const Plan full = withTransfers(plan, 0);
  return deadlockWith(full, PlanIndex(full), messages, true, true);
}

/// `network` has neither limits nor credits.
std::optional<Problem> deadlockOf(const Plan& plan, const PlanIndex& index,
                                  const PlanNetwork& network, const MessageRules& messages) {
  const bool isPlain = !UpdateMeetings::exist(plan);
  if (index.hasTransfers()) {
    const bool hasLimits = messages != MessageRules{} || plan.credits > 0;
    return isPlain && !hasLimits ? findDeadlock(network)
                                 : deadlockWith(plan, index, messages, true);
  }
  const auto problem = isPlain ? findDeadlock(network) : deadlockWith(plan, index, {}, false);
  if (problem) return problem;
  if (messages == MessageRules{} && plan.credits == 0) return {};
  // A plan that needs weights too early is reported elsewhere, and has no transfers to stop at.
  if (!limitProblems(plan, {}).empty()) return {};
  return boundedDeadlock(plan, index, messages);
}

}  // namespace

ProblemList findProblems(const Plan& plan, const CheckOptions& options) {
  const PlanIndex index(plan);
  ProblemList problems;
  const int replicas = std::max(plan.replicas, 1);
  compareSizes(plan.numRanks() / replicas, index.size().microBatches / replicas, options, problems);
  const std::int64_t sizeProblems = problems.count();
  problems.append(index.problems());
  if (!index.isUsable()) return problems;
  findMisplaced(plan, index, problems);
  findMisplacedScalarAllReduces(plan, problems);
  problems.append(transferProblems(plan, index));
  const PlanNetwork network(plan, index, {}, {.credits = false});
  findTooEarly(network, problems);
  findLateRecomputes(plan, index, problems);
  problems.append(partProblems(plan));
  findWrongSettings(plan, problems);
  if (problems.count() == sizeProblems) {  // a plan of another size can still run
    if (auto deadlock = deadlockOf(plan, index, network, {options.buffers, options.commStreams})) {
      problems.add(*deadlock);
    }
  }
  if (index.problems().empty()) problems.append(limitProblems(plan, options));
  return problems;
}

std::vector<Problem> check(const Plan& plan, const CheckOptions& options) {
  return findProblems(plan, options).toVector();
}

std::vector<Problem> checkSize(const CheckedPlan& plan, const CheckOptions& options) {
  ProblemList problems;
  compareSizes(plan->ranksOfReplica(), plan->microBatchesOfReplica(), options, problems);
  return problems.toVector();
}

std::vector<Problem> checkLimits(const CheckedPlan& plan, const CheckOptions& options) {
  ProblemList problems;
  const MessageRules messages{options.buffers, options.commStreams};
  if (messages != MessageRules{}) {
    if (auto deadlock = boundedDeadlock(*plan, PlanIndex(*plan), messages)) {
      problems.add(*deadlock);
    }
  }
  problems.append(limitProblems(*plan, options));
  return problems.toVector();
}

void requireRunsInLine(const CheckedPlan& plan, CommStreams commStreams) {
  const std::vector<Problem> stuck = checkLimits(plan, {.commStreams = commStreams});
  if (stuck.empty()) return;
  throw Error("the plan " + plan->name +
              " cannot run with its messages in line: " + toText(stuck.front()));
}

}  // namespace pipetrace
