#pragma once

#include <vector>

#include "schedule/check/checked_plan.h"
#include "schedule/check/credit_givers.h"
#include "schedule/check/plan_index.h"
#include "schedule/check/weight_versions.h"
#include "schedule/comm_streams.h"
#include "schedule/costs.h"
#include "schedule/simulate/reductions.h"

namespace pipetrace {

/// The times at which each action of a plan runs and each message moves; dryRun() and simulate()
/// are made of it. All is in flat arrays, by number. Actions are numbered rank after rank, cell
/// after cell. A message has twice the number of the action that makes it, + 1 for a gradient.
class PlanTiming {
 public:
  /// The times of one action; of a transfer, from when its rank came to it until it went on.
  struct Span {
    Nanoseconds begin = 0;
    Nanoseconds end = 0;
  };
  /// A message between two ranks.
  struct Transfer {
    int user = kNone;      ///< number of the action that needs it; kNone: there is no such message
    Nanoseconds sent = 0;  ///< made; in a full plan: its rank came to the send; with lines: made,
                           ///< and its turn on the sender's line
    Nanoseconds posted = 0;  ///< full plans: its receiver came to the receive; with lines: its turn
                             ///< on the receiver's line
    Nanoseconds begin = 0;   ///< its turn on the link
    Nanoseconds end = 0;     ///< it is there
    int send = kNone;        ///< full plans: numbers of the actions that move it
    int receive = kNone;
    bool waitedForCredit = false;  ///< from when its rank came to it until then:
    Nanoseconds creditCame = 0;
    int giver = kNone;  ///< number of the action that gave that credit; kNone: in an earlier step
    /// With lines: the messages before it on the sender's and the receiver's line, in this step.
    int beforeOnSender = kNone;
    int beforeOnReceiver = kNone;
  };
  static constexpr int kNone = -1;

  /// Both must outlive this. Throws as dryRun() does. With lines (CommStreams) also for a plan
  /// without sends and receives, and one that does not come to its end.
  PlanTiming(const CheckedPlan& plan, const Costs& costs,
             CommStreams commStreams = CommStreams::kAsReached)
      : PlanTiming(*plan, costs, commStreams) {}

  /// For dryRunOfCandidate(), and throws as it does.
  static PlanTiming ofCandidate(const Plan& plan, const Costs& costs) {
    return {plan, costs, CommStreams::kAsReached};
  }

  /// Runs all actions once. free[r] is when rank r can begin; the call sets it to when the rank is
  /// done. A further call is the next step: links are still busy with messages of the one before.
  /// `step`: its number, for faults of single steps.
  void run(std::vector<Nanoseconds>& free, int step = 0);

  int actionCount() const { return static_cast<int>(actions_.size()); }
  int numberOf(PlanIndex::Position position) const {
    return firstOfRank_[static_cast<std::size_t>(position.rank)] + position.cell;
  }
  PlanIndex::Position positionOf(int number) const;
  const Action& action(int number) const { return *actions_[static_cast<std::size_t>(number)]; }
  int rankOf(int number) const { return rankOf_[static_cast<std::size_t>(number)]; }
  /// Numbers of actions in an order in which they can run.
  const std::vector<int>& order() const { return order_; }
  const Span& span(int number) const { return spans_[static_cast<std::size_t>(number)]; }
  const Transfer& transfer(int message) const {
    return transfers_[static_cast<std::size_t>(message)];
  }
  int messageCount() const { return static_cast<int>(transfers_.size()); }
  static int makerOf(int message) { return message / 2; }
  static bool isForward(int message) { return message % 2 == 0; }
  /// The messages from other ranks that a compute action needs; kNone where there is none.
  int inputOf(int number, int which) const {
    return inputs_[static_cast<std::size_t>(2 * number + which)];
  }
  /// The message that a send or a receive moves.
  int messageOfTransfer(int number) const { return inputs_[static_cast<std::size_t>(2 * number)]; }
  /// How long a message is; 0 where the costs do not say.
  std::int64_t bytesOf(int message) const;
  /// The updates of the weights that follow an action (asynchronous plans): the indices in
  /// WeightVersions::updates from `first` on.
  struct Updates {
    int first = 0;
    int count = 0;
  };
  Updates updatesAfter(int number) const {
    return updatesAfter_.empty() ? Updates{} : updatesAfter_[static_cast<std::size_t>(number)];
  }
  /// When an update began in the last step: its rank had come to it, and its gradients were there.
  Nanoseconds beginOfUpdate(int update) const {
    return updateBegins_[static_cast<std::size_t>(update)];
  }
  /// Those that wait for other ranks have a reduction, of the same index.
  const UpdateMeetings& meetings() const { return meetings_; }
  bool hasTransfers() const { return hasTransfers_; }
  bool hasLines() const { return commStreams_ != CommStreams::kAsReached; }
  /// How much later than its inputs allowed an action began in the last step (Faults::Job::late).
  Nanoseconds latenessOf(int number) const {
    return costs_.faults.jobs.empty() ? 0 : costs_.faults.of(action(number), step_).late;
  }
  const WeightVersions& versions() const { return versions_; }
  const Reductions& reductions() const { return reductions_; }
  /// Whether an action has a place in its row and takes no time: data-parallel work, unless a job's
  /// own time says otherwise.
  bool isEmpty(int number) const {
    return isDataParallel(action(number).kind) && !costs_.faults.change(action(number));
  }
  /// When the messages of a compute action were handed over and its rank went on, in the last step.
  /// Full plans: those of all sends up to the next compute action. Also after the data-parallel
  /// work up to there.
  Nanoseconds handedOverAt(int number) const {
    return handedOver_.empty() ? span(number).end : handedOver_[static_cast<std::size_t>(number)];
  }
  /// The time of each rank's `lr` and `optimizer` at the begin and the end of a step.
  Nanoseconds lr() const { return isForwardOnly_ ? 0 : costs_.lr; }
  Nanoseconds optimizerAtEnd() const {
    return isForwardOnly_ || plan_.isAsynchronous() ? 0 : costs_.optimizer;
  }

 private:
  PlanTiming(const Plan& plan, const Costs& costs, CommStreams commStreams);
  void numberActions();
  void connect(const PlanIndex& index);
  void connectInputs(const PlanIndex& index, int number);
  Nanoseconds latencyOf(int message) const;
  Nanoseconds* linkOf(int message);
  void runCompute(int number, std::vector<Nanoseconds>& free);
  void runUpdates(int rank, std::vector<Nanoseconds>& free);
  Nanoseconds meet(int meeting, std::vector<Nanoseconds>& free);
  void runDataParallel(int number, Nanoseconds& free);
  void runTransfer(int number, Nanoseconds& free);
  void takeUpCredits(const PlanIndex& index);
  struct Credit {
    Nanoseconds given = kNsMin;  // when it comes; kNsMin: the message needs none
    int giver = kNone;           // as Transfer::giver
  };
  Credit creditOf(int message) const;
  void awaitCredit(int message, Nanoseconds& free);
  void handOver(int message, Nanoseconds& free);
  void handOverPending(int rank, Nanoseconds& free);
  void keepAcknowledgements();
  void move(int message);
  void moveOnLines(int message, const std::vector<Nanoseconds>& begins);

  const Plan& plan_;
  const Costs& costs_;
  const CommStreams commStreams_;
  bool isForwardOnly_;
  bool hasTransfers_ = false;
  int step_ = 0;
  WeightVersions versions_;
  UpdateMeetings meetings_;
  Reductions reductions_;
  std::vector<int> firstOfRank_;
  std::vector<int> rankOf_;
  std::vector<const Action*> actions_;
  std::vector<int> order_;
  std::vector<int> inputs_;  // two by action
  std::vector<Updates> updatesAfter_;
  std::vector<Nanoseconds> updateBegins_;
  // By rank: the action whose updates are due; kNone: none. They come after the sends behind it.
  std::vector<int> pendingUpdates_;
  std::vector<char> haveMet_;  // by meeting: in this step
  std::vector<Span> spans_;
  std::vector<Transfer> transfers_;
  std::vector<char> half_;             // by message of a full plan: one of its ends is there
  std::vector<Nanoseconds> linkFree_;  // by sender and receiver; only with a bandwidth
  struct Line {
    Nanoseconds free = 0;
    int last = kNone;  // the message that it moved last in this step
  };
  Line& lineOf(int rank, const MessageEnd& end);
  std::size_t linesOfRank_ = 0;
  std::vector<Line> lines_;  // by rank and line of it

  std::vector<int> lastCompute_;  // by rank: the last one that ran; kNone: none
  // By compute action, of plans with credits or data-parallel work that takes time.
  std::vector<Nanoseconds> handedOver_;

  // Plans without credits have none of these.
  struct CreditChannel {
    std::vector<int> users;                  // numbers of actions, in the receiver's order
    Nanoseconds back = 0;                    // the time of an acknowledgement
    std::vector<Nanoseconds> ofStepsBefore;  // when acknowledgements arrived, the last ones
  };
  std::vector<CreditChannel> creditChannels_;
  std::vector<CreditGivers::Place> creditPlaces_;  // by action
  // Plans without transfers, and with lines and credits. By rank: the action whose messages are to
  // be handed over; kNone: none.
  std::vector<int> pending_;
};

}  // namespace pipetrace
