#pragma once

#include <vector>

#include "schedule/check/plan_index.h"

namespace pipetrace {

/// How many messages a channel (sending rank -> receiving rank) holds that are sent and whose
/// receive is not posted yet: a number from 1 on, or one of these.
inline constexpr int kUnboundedBuffers = -1;
inline constexpr int kBlocking = 0;  ///< none: a send and its receive wait for each other

/// What each action of a plan waits for, apart from the action before it on its rank; the rules are
/// those of check.h.
class WaitRules {
 public:
  using Position = PlanIndex::Position;

  struct Wait {
    Position position;
    /// Enough that its rank has come to it: all before it is done. Else it has to be done.
    bool reached = false;

    /// How many actions of that rank must be done.
    int doneNeeded() const { return position.cell + (reached ? 0 : 1); }
  };
  struct Waits {
    /// A fused pair: three inputs, and both ends of two messages. A plan that can run has at the
    /// most five of them, as an input comes as a message or from the same rank; others have more.
    Wait list[7];
    int count = 0;
    void add(Position position, bool reached = false) { list[count++] = {position, reached}; }
    const Wait* begin() const { return list; }
    const Wait* end() const { return list + count; }
  };

  /// Both must outlive the rules; `index` is that of `plan`.
  WaitRules(const Plan& plan, const PlanIndex& index, int buffers = kUnboundedBuffers);

  Waits waitsOf(Position position) const;

 private:
  void findRoomMakers();
  void addInputs(const Action& action, Position position, Waits& waits) const;
  void addSend(const Action& action, Position position, Waits& waits) const;

  const Plan& plan_;
  const PlanIndex& index_;
  int buffers_;
  /// By rank and cell, of bounded buffers only: the receive that makes room for a send.
  std::vector<std::vector<Position>> roomMakers_;
};

}  // namespace pipetrace
