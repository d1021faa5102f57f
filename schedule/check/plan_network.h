#pragma once

#include <map>
#include <span>
#include <utility>
#include <vector>

#include "schedule/check/credit_channels.h"
#include "schedule/check/plan_index.h"
#include "schedule/check/update_meetings.h"
#include "schedule/comm_streams.h"
#include "schedule/waits/wait_network.h"

namespace pipetrace {

/// The number of sent messages whose receive is not posted yet that a channel (sending rank ->
/// receiving rank) can hold. It is a number from 1 on, or one of these.
inline constexpr int kUnboundedBuffers = -1;
inline constexpr int kBlocking = 0;  ///< none: a send and its receive wait for each other
/// None, but a rank goes on from its receives: a send waits until its receive is posted.
inline constexpr int kPostedOnly = -2;

/// How the messages of a plan move.
struct MessageRules {
  int buffers = kUnboundedBuffers;
  CommStreams commStreams = CommStreams::kAsReached;  ///< with lines, buffers are unbounded

  bool operator==(const MessageRules&) const = default;
};

/// Where the gradients of a stage are added up over its ranks at the end of a step, or scalars over
/// all ranks: ranks come to it and go on, and the step ends when it is over.
struct MeetingOfRanks {
  std::vector<PlanIndex::Position> members;  ///< the actions that come to it; by rank
  int before = -1;                           ///< index of the one that it follows; −1: none
  bool isOfAllRanks = false;  ///< it comes when all ranks are done with all else, and ends the step
};

/// What the actions of a plan wait for, as a network. The rules are those of check.h. Here is the
/// one place that says so: the check, the simulation and the critical path ask the network.
///
/// Its operations:
/// - the begin of each rank's step, which is given
/// - each action, on its rank after the one before it. With lines (CommStreams) sends and receives
///   follow those before them on their lines, and a send begins with its receive
/// - where messages have links: each message
/// - where a plan has credits, and no sends in its rows (it has none, or they are on lines):
///   the hand-over of what an action has made. The rank goes on when its message has a
///   credit
/// - updates of weights, where they are asked for, and the meetings at which ranks add gradients
/// - the end of each rank's step
/// - what a step takes over from steps before: `carried`, which is given
class PlanNetwork {
 public:
  using Index = WaitNetwork::Index;
  using Position = PlanIndex::Position;
  using Wait = WaitNetwork::Wait;
  static constexpr int kNone = -1;

  /// What else the operations wait for; all may be left out.
  struct Parts {
    bool credits = true;                       ///< those of the plan
    bool links = false;                        ///< messages wait for the one before on their link
    const WeightVersions* versions = nullptr;  ///< updates of the weights are operations
    std::span<const MeetingOfRanks> meetings;  ///< at the end of the step, in order
  };

  enum class Kind {
    kBegin,      ///< of a rank's step; `number`: the rank
    kAction,     ///< `number`: its own
    kMessage,    ///< with a link; `number`: its own
    kHandOver,   ///< `number`: of the action
    kUpdate,     ///< `number`: index in WeightVersions::updates
    kReduction,  ///< `number`: index in UpdateMeetings::all(), or in Parts::meetings
    kEnd,        ///< of a rank's step, but for meetings of all ranks; `number`: the rank
    kCarried,    ///< from steps before; `number`: index in carried()
  };
  struct Operation {
    Kind kind = Kind::kBegin;
    int number = 0;
  };
  /// A given operation ends when `source` did, so many steps before; where there was no such step,
  /// long ago.
  struct Carried {
    Index operation = 0;
    Index source = 0;
    int steps = 1;
  };

  /// `plan` must outlive it. `index` is that of `plan`. What a plan lacks is not waited for.
  PlanNetwork(const Plan& plan, const PlanIndex& index, const MessageRules& rules,
              const Parts& parts);

  const WaitNetwork& waits() const { return network_; }
  /// Whether all of it can run; else there is a deadlock.
  bool isComplete() const { return isComplete_; }

  const Plan& plan() const { return plan_; }
  /// Actions are numbered rank after rank, cell after cell. A message has twice the number of the
  /// action that makes it, + 1 for a gradient.
  int actionCount() const { return static_cast<int>(actions_.size()); }
  int messageCount() const { return 2 * actionCount(); }
  int numberOf(Position position) const {
    return firstOfRank_[static_cast<std::size_t>(position.rank)] + position.cell;
  }
  Position positionOf(int number) const {
    const int rank = rankOf(number);
    return {rank, number - firstOfRank_[static_cast<std::size_t>(rank)]};
  }
  const Action& action(int number) const { return *actions_[static_cast<std::size_t>(number)]; }
  int rankOf(int number) const { return rankOf_[static_cast<std::size_t>(number)]; }
  static int makerOf(int message) { return message / 2; }
  static bool isForward(int message) { return message % 2 == 0; }
  /// The action of another rank that needs a message; kNone: there is no such message.
  int userOf(int message) const { return users_[static_cast<std::size_t>(message)]; }
  /// The actions that move it; kNone: none.
  int sendOf(int message) const {
    return transfers_.empty() ? kNone : transfers_[static_cast<std::size_t>(message)].send;
  }
  int receiveOf(int message) const {
    return transfers_.empty() ? kNone : transfers_[static_cast<std::size_t>(message)].receive;
  }
  /// The message that a send or a receive moves; kNone: none.
  int messageOf(int number) const {
    return moved_.empty() ? kNone : moved_[static_cast<std::size_t>(number)];
  }

  Operation operation(Index index) const;
  bool isAction(Index index) const { return index - firstAction_ < actions_.size(); }
  /// The number of an operation that is an action.
  int actionAt(Index index) const { return static_cast<int>(index - firstAction_); }
  Index ofBegin(int rank) const { return static_cast<Index>(rank); }
  Index ofAction(int number) const { return firstAction_ + static_cast<Index>(number); }
  /// Where messages have links.
  Index ofMessage(int message) const { return messages_[static_cast<std::size_t>(message)]; }
  /// After this the rank of a compute action goes on, and its messages are on their way, if it has
  /// no sends.
  Index ofHandOver(int number) const {
    return hasHandOvers() ? firstHandOver_ + static_cast<Index>(number) : ofAction(number);
  }
  Index ofUpdate(int update) const { return firstUpdate_ + static_cast<Index>(update); }
  Index ofReduction(int number) const { return firstReduction_ + static_cast<Index>(number); }
  /// With this the step of a rank ends.
  Index ofEnd(int rank) const { return lastOfRank_[static_cast<std::size_t>(rank)]; }
  const std::vector<Carried>& carried() const { return carried_; }
  const UpdateMeetings& meetings() const { return meetings_; }
  bool hasTransfers() const { return hasTransfers_; }
  bool hasLines() const { return hasLines_; }
  bool hasLinks() const { return hasLinks_; }
  /// What a lag means: that of a credit is messageCount() and the number of its channel, any other
  /// the number of a message. That of WaitReason::kLink goes back from the end of a message.
  int channelOf(Index lag) const { return static_cast<int>(lag) - messageCount(); }
  const CreditChannels& credits() const { return credits_; }

 private:
  void numberActions();
  int messageTo(int number, const PlannedMessage& needed);
  void numberMessages();
  void addOperations(const Parts& parts);
  void addRow(int rank);
  void addCompute(int number);
  void addSend(int number);
  void addRoom(int send, int receive);
  void addSendOnLine(int number);
  void addReceiveOnLine(int number);
  void addTurn(Index operation, int number, const MessageEnd& end);
  void addUpdates(int rank, int cell, Index& before);
  void addLinks();
  void addCredit(Index operation, int message);
  void addMeetings(std::span<const MeetingOfRanks> meetings);
  std::size_t carry();
  bool hasHandOvers() const { return firstHandOver_ != firstUpdate_; }

  const Plan& plan_;
  MessageRules rules_;
  bool hasTransfers_ = false;
  bool hasLines_ = false;
  bool hasLinks_ = false;
  WaitNetwork network_;
  bool isComplete_ = false;
  std::vector<int> firstOfRank_;
  std::vector<int> rankOf_;
  std::vector<const Action*> actions_;
  std::vector<int> users_;  // by message
  struct Transfers {
    int send = kNone;
    int receive = kNone;
  };
  std::vector<Transfers> transfers_;  // by message of full plans
  std::vector<int> moved_;            // by send and receive: the message
  std::vector<Index> messages_;       // by message, where they have links
  std::vector<int> ofLinks_;          // the messages with links, in the order of their operations
  CreditChannels credits_;
  const WeightVersions* versions_;
  UpdateMeetings meetings_;
  std::vector<Carried> carried_;
  std::vector<Index> lastOfRank_;
  Index firstAction_ = 0;
  Index firstMessage_ = 0;
  Index firstHandOver_ = 0;
  Index firstUpdate_ = 0;
  Index firstReduction_ = 0;
  Index firstEnd_ = 0;
  Index firstCarried_ = 0;
  // While it is built.
  const PlanIndex* index_ = nullptr;
  std::size_t nextUpdate_ = 0;
  struct Line {
    Index last = WaitNetwork::kNone;  // what it serves before
    std::size_t carried = 0;          // index of its last one of the step before
  };
  std::vector<Line> lines_;                                   // by rank and line of it
  std::map<std::pair<int, int>, std::vector<int>> receives_;  // by channel; bounded buffers only
  std::map<std::pair<int, int>, std::size_t> sent_;
};

}  // namespace pipetrace
