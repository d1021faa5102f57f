#include "schedule/check/check.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "schedule/add_transfers.h"
#include "schedule/check/deadlock.h"
#include "schedule/check/held_memory.h"
#include "schedule/check/plan_index.h"
#include "schedule/check/weight_versions.h"
#include "trace/error.h"
#include "trace/text/number_text.h"

namespace pipetrace {
namespace {

/// The most that a rank holds, and where it first holds more than the limit.
struct Excess {
  std::int64_t limit = 0;
  std::int64_t most = 0;
  int cell = -1;

  void note(std::int64_t held, int at) {
    most = std::max(most, held);
    if (limit > 0 && held > limit && cell < 0) cell = at;
  }
  void report(int rank, const Action& action, const std::string& unit, std::int64_t atCell,
              std::vector<Problem>& problems) const {
    problems.push_back({rank, cell,
                        toText(action) + " makes " + std::to_string(atCell) + unit +
                            ", and the limit is " + std::to_string(limit) +
                            "; the rank's most is " + std::to_string(most)});
  }
};

void findHeldTooMuch(const Plan& plan, const CheckOptions& options, const WeightVersions& versions,
                     std::vector<Problem>& problems) {
  if (options.mostLive <= 0 && options.memoryLimit <= 0) return;
  const Costs unit = Costs::equal(plan.numStages, {});
  const Costs& costs = options.memoryLimit > 0 ? *options.costs : unit;
  const auto weights = weightsByRank(plan, costs, versions);
  const HeldFor heldFor = whatActivationsAreHeldFor(plan);
  for (int rank = 0; rank < plan.numRanks(); ++rank) {
    const auto& actions = plan.ranks[static_cast<std::size_t>(rank)];
    HeldMemory held(plan, heldFor, costs, weights[static_cast<std::size_t>(rank)], rank);
    Excess live{.limit = options.mostLive};
    Excess memory{.limit = options.memoryLimit};
    std::int64_t liveThere = 0;
    std::int64_t memoryThere = 0;
    for (std::size_t i = 0; i < actions.size(); ++i) {
      held.begin(actions[i]);
      live.note(held.live(), static_cast<int>(i));
      memory.note(held.memory(), static_cast<int>(i));
      if (live.cell == static_cast<int>(i)) liveThere = held.live();
      if (memory.cell == static_cast<int>(i)) memoryThere = held.memory();
      held.end(actions[i]);
    }
    const auto at = [&](int cell) { return actions[static_cast<std::size_t>(cell)]; };
    if (live.cell >= 0) {
      live.report(rank, at(live.cell), " activations that are held at once", liveThere, problems);
    }
    if (memory.cell >= 0) {
      memory.report(rank, at(memory.cell), " of memory that is held at once", memoryThere,
                    problems);
    }
  }
}

void findStaleWeights(const Plan& plan, const CheckOptions& options, const WeightVersions& versions,
                      std::vector<Problem>& problems) {
  for (const WeightVersions::TooEarly& early : versions.tooEarly) {
    const int every = plan.updates.everyOf(early.stage);
    const int own = plan.numberInReplica(early.microBatch);
    const int last = early.microBatch - own + (own / every - 1) * every - 1;
    problems.push_back({early.at.rank, early.at.cell,
                        std::to_string(early.stage) + "F" + std::to_string(early.microBatch) +
                            " needs the weights that micro-batches up to " + std::to_string(last) +
                            " leave, and these are not all done: stage " +
                            std::to_string(early.stage) + " would need a third version"});
  }
  for (std::size_t s = 0; s < versions.stages.size(); ++s) {
    const WeightVersions::Stage& stage = versions.stages[s];
    const std::string name = "stage " + std::to_string(s);
    if (options.mostVersions > 0 && stage.held > options.mostVersions) {
      problems.push_back({stage.heldAt.rank, stage.heldAt.cell,
                          name + " keeps " + std::to_string(stage.held) +
                              " versions of its weights, and the limit is " +
                              std::to_string(options.mostVersions)});
    }
    if (options.mostDistance >= 0 && stage.distance > options.mostDistance) {
      problems.push_back({stage.distanceAt.rank, stage.distanceAt.cell,
                          name + " applies a gradient that is " + std::to_string(stage.distance) +
                              " updates out of date, and the limit is " +
                              std::to_string(options.mostDistance)});
    }
  }
}

/// Which of the limits a plan does not keep. All its work must be in range.
std::vector<Problem> limitProblems(const Plan& plan, const CheckOptions& options) {
  if (options.memoryLimit > 0 &&
      (options.costs == nullptr ||
       options.costs->stages.size() < static_cast<std::size_t>(plan.numStages))) {
    throw Error("a memory limit needs the costs of all " + std::to_string(plan.numStages) +
                " stages");
  }
  std::vector<Problem> problems;
  if (auto wrong = wrongUpdates(plan)) return {*wrong};
  const WeightVersions versions = weightVersions(plan);
  findHeldTooMuch(plan, options, versions, problems);
  findStaleWeights(plan, options, versions, problems);
  return problems;
}

/// A row has these of a stage whose last backward is in parts.
struct PartsInRow {
  Action first;            // the part that came first
  std::set<int> done;      // the parts that came
  std::set<int> reduced;   // buckets that stand before the last part
  int earliestWrong = -1;  // the cell of a reduction that comes before its part
};

class RowCheck {
 public:
  RowCheck(const std::vector<Action>& row, int rank, ProblemList& problems)
      : row_(row), rank_(rank), problems_(problems) {}

  void run() {
    for (std::size_t i = 0; i < row_.size(); ++i) visit(row_[i], static_cast<int>(i));
  }

 private:
  void visit(const Action& action, int cell) {
    const bool isPair = action.kind == JobKind::kForwardBackward;
    if (action.isPart() && mayHaveParts(action.kind)) {
      visitPart(action, cell);
    } else if (isPair || mayHaveParts(action.kind)) {
      visitWhole(action, isPair ? action.backwardStage : action.stage, cell);
    } else if (action.kind == JobKind::kReduceScatter) {
      visitReduction(action, cell);
    }
  }

  void visitPart(const Action& action, int cell) {
    const auto [place, isNew] = parts_.try_emplace(action.stage, PartsInRow{.first = action});
    PartsInRow& parts = place->second;
    if (!isOfIt(action, parts)) return reportLater(parts.first, action, cell);
    parts.done.insert(action.part);
    const bool hasWrong = parts.earliestWrong >= 0 && !wasReported_.contains(action.stage);
    if (!action.isLastPart() || !hasWrong) return;
    wasReported_.insert(action.stage);
    const Action& reduction = row_[static_cast<std::size_t>(parts.earliestWrong)];
    problems_.add(rank_, parts.earliestWrong, [&] {
      return toText(reduction) + " comes before " + toText(action) +
             ", and is not the bucket of a part that has ended; give each part one behind it, with "
             "its number";
    });
  }

  static bool isOfIt(const Action& action, const PartsInRow& parts) {
    return action.kind == parts.first.kind && action.microBatch == parts.first.microBatch;
  }

  void visitWhole(const Action& action, int stage, int cell) {
    const auto found = parts_.find(stage);
    if (found != parts_.end()) reportLater(found->second.first, action, cell);
  }

  void reportLater(const Action& part, const Action& later, int cell) {
    problems_.add(rank_, cell, [&] {
      return toText(later) + " comes after " + toText(part) +
             ", and only the last backward of a stage on its rank is in parts";
    });
  }

  void visitReduction(const Action& action, int cell) {
    const auto found = parts_.find(action.stage);
    if (found == parts_.end()) return;
    PartsInRow& parts = found->second;
    const bool isBetween = static_cast<int>(parts.done.size()) < parts.first.parts;
    const bool isOfEndedPart =
        parts.done.contains(action.microBatch) && parts.reduced.insert(action.microBatch).second;
    if (isBetween && !isOfEndedPart && parts.earliestWrong < 0) parts.earliestWrong = cell;
  }

  const std::vector<Action>& row_;
  const int rank_;
  ProblemList& problems_;
  std::map<int, PartsInRow> parts_;  // by stage
  std::set<int> wasReported_;        // stages
};

/// Finds what is wrong with backwards in parts, apart from their order and parts that are missing.
/// Only the last backward of a stage on its rank may be in parts, or its weight half, and in a plan
/// without a flush none. Where a REDUCE_GRAD of the stage stands between them, there is one for
/// each part, with its number and after it.
ProblemList partProblems(const Plan& plan) {
  ProblemList problems;
  if (!std::any_of(plan.ranks.begin(), plan.ranks.end(), [](const auto& row) {
        return std::any_of(row.begin(), row.end(), [](const Action& a) { return a.isPart(); });
      })) {
    return problems;
  }
  if (plan.isAsynchronous()) {
    problems.add({.message = "a plan without a flush has no last backward that may be in parts"});
  }
  for (int rank = 0; rank < plan.numRanks(); ++rank) {
    RowCheck(plan.ranks[static_cast<std::size_t>(rank)], rank, problems).run();
  }
  return problems;
}

using Position = PlanIndex::Position;

void findUnmatched(const PlannedMessage& message, const PlanIndex& index, ProblemList& problems) {
  const Position send = index.sendAt(message);
  const Position receive = index.receiveAt(message);
  if (send.exists() && receive.exists()) return;
  const std::string sendText = toText(sendOf(message));
  const std::string receiveText = toText(receiveOf(message));
  if (send.exists()) {
    problems.add(
        {send.rank, send.cell, sendText + " has no receive: " + receiveText + " is missing"});
  } else if (receive.exists()) {
    problems.add(
        {receive.rank, receive.cell, receiveText + " has no send: " + sendText + " is missing"});
  } else if (const Position user = index.userOf(message); user.exists()) {
    problems.add({user.rank, user.cell,
                  toText(index.at(user)) + " gets no input: " + sendText + " and " + receiveText +
                      " are missing"});
  }
}

/// By channel (sender, receiver): the places of its sends, or of its receives.
using Channels = std::map<std::pair<int, int>, std::vector<Position>>;

Channels channelsOf(const Plan& plan, const PlanIndex& index, bool sends) {
  Channels channels;
  for (int rank = 0; rank < plan.numRanks(); ++rank) {
    const auto& actions = plan.ranks[static_cast<std::size_t>(rank)];
    for (std::size_t i = 0; i < actions.size(); ++i) {
      if (!isTransfer(actions[i].kind) || isSend(actions[i].kind) != sends) continue;
      const PlannedMessage message = messageOf(actions[i]);
      const int sender = sends ? rank : index.sendAt(message).rank;
      const int receiver = sends ? index.receiveAt(message).rank : rank;
      channels[{sender, receiver}].push_back({rank, static_cast<int>(i)});
    }
  }
  return channels;
}

void findUnordered(const Plan& plan, const PlanIndex& index, ProblemList& problems) {
  const Channels sends = channelsOf(plan, index, true);
  for (const auto& [ranks, receives] : channelsOf(plan, index, false)) {
    const std::vector<Position>& sent = sends.at(ranks);
    for (std::size_t i = 0; i < receives.size(); ++i) {
      const Action& receive = index.at(receives[i]);
      const Action& send = index.at(sent[i]);
      if (messageOf(receive) == messageOf(send)) continue;
      problems.add({receives[i].rank, receives[i].cell,
                    toText(receive) + " is out of order: message " + std::to_string(i) +
                        " from rank " + std::to_string(ranks.first) + " is sent by " +
                        toText(send) + " (rank " + std::to_string(sent[i].rank) + ", cell " +
                        std::to_string(sent[i].cell) + ")"});
      break;  // the others of the channel follow from that
    }
  }
}

/// Finds faults in the sends and receives of a full plan: one without the other, or a channel whose
/// receives are in another order than its sends. `index` is that of `plan`.
ProblemList transferProblems(const Plan& plan, const PlanIndex& index) {
  ProblemList problems;
  if (!index.hasTransfers()) return problems;
  for (int stage = 0; stage < index.size().stages; ++stage) {
    for (int m = 0; m < index.size().microBatches; ++m) {
      for (const bool forward : {true, false}) {
        if (!forward && index.isForwardOnly()) continue;
        const PlannedMessage message{forward, stage, m};
        if (index.crossesRanks(message)) findUnmatched(message, index, problems);
      }
    }
  }
  if (problems.empty() && index.problems().empty()) findUnordered(plan, index, problems);
  return problems;
}

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

CheckedPlan::CheckedPlan(Plan&& plan) : plan_(std::move(plan)) {
  const ProblemList problems = findProblems(plan_);
  if (problems.empty()) return;
  std::string text = "the plan " + plan_.name + " cannot run:";
  constexpr std::size_t kShown = 20;
  for (const Problem& problem : problems.toVector(kShown)) text += "\n  " + toText(problem);
  throw Error(text);
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
