#pragma once

#include <vector>

#include "schedule/check/credit_givers.h"
#include "schedule/check/plan_index.h"

namespace pipetrace {

/// The number of sent messages whose receive is not posted yet that a channel (sending rank ->
/// receiving rank) can hold. It is a number from 1 on, or one of these.
inline constexpr int kUnboundedBuffers = -1;
inline constexpr int kBlocking = 0;  ///< none: a send and its receive wait for each other

/// The actions that each action of a plan waits for, apart from the action before it on its rank.
/// The rules are those of check.h.
class WaitRules {
 public:
  using Position = PlanIndex::Position;

  struct Wait {
    Position position;
    /// True: its rank must have come to it, with all before it done. False: it must be done itself.
    bool reached = false;
    bool isCredit = false;  ///< it gives back a credit (Plan::credits)

    /// The number of actions of that rank that must be done.
    int doneNeeded() const { return position.cell + (reached ? 0 : 1); }
  };
  struct Waits {
    /// A fused pair has three inputs, and both ends of two messages. A plan that can run has at
    /// most five of them, as an input comes as a message or from the same rank; others have more.
    /// Without sends, credits add up to three.
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
  WaitRules(const Plan& plan, const PlanIndex& index, int buffers = kUnboundedBuffers,
            const CreditGivers* credits = nullptr);

  Waits waitsOf(Position position) const;

 private:
  void findRoomMakers();
  void addCreditOf(Position maker, Waits& waits) const;
  void addInputs(const Action& action, Position position, Waits& waits) const;
  void addSend(const Action& action, Position position, Waits& waits) const;

  const Plan& plan_;
  const PlanIndex& index_;
  int buffers_;
  const CreditGivers* credits_;
  /// By rank and cell, of bounded buffers only: the receive that makes room for a send.
  std::vector<std::vector<Position>> roomMakers_;
};

}  // namespace pipetrace
