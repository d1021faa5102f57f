#pragma once

#include <vector>

#include "schedule/check/checked_plan.h"
#include "schedule/check/plan_network.h"
#include "schedule/check/weight_versions.h"
#include "schedule/comm_streams.h"
#include "schedule/costs.h"
#include "schedule/simulate/reductions.h"
#include "schedule/waits/wait_times.h"

namespace pipetrace {

/// The times at which each action of a plan runs and each message moves: the plan's network, run
/// with costs. dryRun() and simulate() are made of it. Numbers of actions and messages are those of
/// PlanNetwork.
class PlanTiming {
 public:
  /// The times of one action; of a transfer, from when its rank came to it until it went on.
  struct Span {
    Nanoseconds begin = 0;
    Nanoseconds end = 0;
  };
  /// A message between two ranks.
  struct Transfer {
    Nanoseconds sent = 0;    ///< made; in a full plan: its rank came to the send; with lines: made,
                             ///< and its turn on the sender's line
    Nanoseconds posted = 0;  ///< full plans: its receiver came to the receive; with lines: its turn
                             ///< on the receiver's line
    Nanoseconds begin = 0;   ///< its turn on the link
    Nanoseconds end = 0;     ///< it is there
  };
  static constexpr int kNone = PlanNetwork::kNone;

  /// Both must outlive this. The times of the costs may change from run to run, but not what takes
  /// no time at all: transfers without a bandwidth, reductions, faults. Throws as dryRun() does.
  /// With lines (CommStreams) also for a plan without sends and receives, and one that does not
  /// come to its end.
  PlanTiming(const CheckedPlan& plan, const Costs& costs,
             CommStreams commStreams = CommStreams::kAsReached)
      : PlanTiming(*plan, costs, commStreams) {}

  PlanTiming(const PlanTiming&) = delete;
  PlanTiming& operator=(const PlanTiming&) = delete;

  /// For dryRunOfCandidate(), and throws as it does.
  static PlanTiming ofCandidate(const Plan& plan, const Costs& costs) {
    return {plan, costs, CommStreams::kAsReached};
  }

  /// Runs all actions once. free[r] is when rank r can begin; the call sets it to when the rank is
  /// done. A further call is the next step: links are still busy with messages of the one before.
  /// `step`: its number, for faults of single steps.
  void run(std::vector<Nanoseconds>& free, int step = 0);

  const PlanNetwork& network() const { return network_; }
  int actionCount() const { return network_.actionCount(); }
  int messageCount() const { return network_.messageCount(); }
  int numberOf(PlanIndex::Position position) const { return network_.numberOf(position); }
  const Action& action(int number) const { return network_.action(number); }
  int rankOf(int number) const { return network_.rankOf(number); }

  /// In the last step, as all times.
  Span span(int number) const { return spanOf(network_.ofAction(number)); }
  /// Of a message whose PlanNetwork::userOf() there is.
  Transfer transfer(int message) const;
  /// Of any operation.
  Span spanOf(PlanNetwork::Index operation) const {
    const Nanoseconds end = times_.end(operation);
    return {end - durationOf(operation), end};
  }
  /// When a wait is over.
  Nanoseconds endOf(const PlanNetwork::Wait& wait) const {
    const Nanoseconds end = times_.end(wait.source);
    return wait.lag == WaitNetwork::kNone ? end : end + lagOf(wait);
  }
  /// How long a message is; 0 where the costs do not say.
  std::int64_t bytesOf(int message) const;
  /// How much later than its inputs allowed an action began (Faults::Job::late).
  Nanoseconds latenessOf(int number) const {
    if (costs_.faults.jobs.empty() || isTransfer(action(number).kind)) return 0;
    return costs_.faults.of(action(number), step_).late;
  }
  const WeightVersions& versions() const { return versions_; }
  /// Those of the network's kind of operation, in its order.
  const std::vector<Reduction>& reductions() const { return reductions_; }
  /// Whether an action has a place in its row and takes no time: data-parallel work, unless a job's
  /// own time says otherwise.
  bool isEmpty(int number) const {
    return isDataParallel(action(number).kind) && !costs_.faults.change(action(number));
  }
  /// The time of each rank's `lr` and `optimizer` at the begin and the end of a step.
  Nanoseconds lr() const { return isForwardOnly_ ? 0 : costs_.lr; }
  Nanoseconds optimizerAtEnd() const {
    return isForwardOnly_ || plan_.isAsynchronous() ? 0 : costs_.optimizer;
  }

 private:
  PlanTiming(const Plan& plan, const Costs& costs, CommStreams commStreams);
  PlanNetwork networkOf(CommStreams commStreams);
  Nanoseconds durationOf(PlanNetwork::Index operation) const;
  Nanoseconds durationOfOther(PlanNetwork::Index operation) const;
  Nanoseconds lagOf(const PlanNetwork::Wait& wait) const;
  void findLinks();
  Nanoseconds latencyOf(int message) const;
  Nanoseconds readyAt(PlanNetwork::Index operation) const;
  void takeOver();
  void keepForNextSteps();
  void timeReductions();

  const Plan& plan_;
  const Costs& costs_;
  bool isForwardOnly_;
  WeightVersions versions_;
  std::vector<Reduction> reductions_;
  PlanNetwork network_;
  WaitTimes<Nanoseconds> times_;
  /// By message: which of Faults::links it takes, or kNone; empty where there are none. Looking for
  /// it at each wait would take most of the time of a run with many links.
  std::vector<int> linkOf_;
  std::vector<Nanoseconds> acknowledgements_;  // by channel of credits: how long they take
  int step_ = 0;
  std::size_t runs_ = 0;
  std::vector<std::vector<Nanoseconds>> kept_;  // by PlanNetwork::carried(), of the last steps
};

}  // namespace pipetrace
