#pragma once

#include <vector>

#include "schedule/check/credit_givers.h"
#include "schedule/check/plan_index.h"
#include "schedule/check/update_meetings.h"
#include "schedule/comm_streams.h"

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

/// The actions that each action of a plan waits for, apart from the action before it in its queue.
/// The rules are those of check.h.
class WaitRules {
 public:
  using Position = PlanIndex::Position;

  struct Wait {
    Position position;
    /// True: it must be next in its queue, with all before it done. False: it must be done itself.
    bool reached = false;
    bool isCredit = false;  ///< it gives back a credit (Plan::credits)

    /// The number of actions that must be done in a queue where `position` has that index.
    int doneNeeded(int index) const { return index + (reached ? 0 : 1); }
  };
  struct Waits {
    /// A fused pair has three inputs, and both ends of two messages. A plan that can run has at
    /// most five of them, as an input comes as a message or from the same rank; others have more.
    /// Without sends, credits add up to three; on lines, to one.
    union {
      Wait list[7];  // not cleared: a plan asks for the waits of each action
    };
    int count = 0;
    Waits() {}
    void add(Position position, bool reached = false) { list[count++] = {position, reached}; }
    void addCredit(Position position) { list[count++] = {position, false, true}; }
    const Wait* begin() const { return list; }
    const Wait* end() const { return list + count; }
  };

  /// All must outlive the rules; `index` is that of `plan`, `credits` too (null: it has none).
  WaitRules(const Plan& plan, const PlanIndex& index, const MessageRules& rules = {},
            const CreditGivers* credits = nullptr);

  /// Without those for other ranks at an update (UpdateMeetings).
  Waits waitsOf(Position position) const;

  /// The first wait of an action, of all, that is open. Its position does not exist if none is.
  template <typename IsOpen>
  Wait firstOpen(Position position, const IsOpen& isOpen) const {
    for (const Wait& wait : waitsOf(position)) {
      if (isOpen(wait)) return wait;
    }
    if (meetings_.empty()) return {};
    for (const Wait& wait : waitsForUpdates(position)) {
      if (isOpen(wait)) return wait;
    }
    return {};
  }

 private:
  std::vector<Wait> waitsForUpdates(Position position) const;
  void findRoomMakers();
  void addCreditOf(Position maker, Waits& waits) const;
  void addCreditOfComputeBefore(Position position, Waits& waits) const;
  void addInputs(const Action& action, Position position, Waits& waits) const;
  void addSend(const Action& action, Position position, Waits& waits) const;

  const Plan& plan_;
  const PlanIndex& index_;
  const int buffers_;
  const bool hasLines_;
  const CreditGivers* credits_;
  /// By rank and cell, of bounded buffers only: the receive that makes room for a send.
  std::vector<std::vector<Position>> roomMakers_;
  UpdateMeetings meetings_;
};

}  // namespace pipetrace
