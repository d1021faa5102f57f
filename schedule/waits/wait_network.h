#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "trace/nanoseconds.h"

namespace pipetrace {

/// Why an operation does not begin earlier.
enum class WaitReason : std::uint8_t {
  kStepBegin,  ///< it is the first
  kRank,       ///< its rank was busy with what it does before
  kMessage,    ///< it needs a message of another rank
  kMaker,      ///< a message: it is made then
  kLink,       ///< a message: the one before it kept the link between the ranks busy
  kReceive,    ///< a message: its receive is posted then
  kLine,       ///< a message: the one before it held the line of one of its ends
  kLaunch,     ///< it was launched late
  kCredit,     ///< a message: the acknowledgement of one before it came then
  kInput,      ///< it needs what its own rank does later: it cannot run
  kBuffer,     ///< a message: all buffers of its receiver were full
  kMeeting,    ///< others come to it, too
};

/// Operations, and what each of them waits for. This is the one way to ask when things would
/// happen. A builder says what waits for what, of a plan (PlanNetwork) or of steps of a run
/// (RunNetwork), before any time is known. WaitTimes runs the network.
///
/// An operation begins when all that it waits for is over. Operations of a group begin together.
/// What follows a fixed order, such as the actions of a rank or the messages of a link, waits for
/// the one before. Operations that are given do not run: who runs the network says when they end.
class WaitNetwork {
 public:
  using Index = std::uint32_t;
  static constexpr Index kNone = ~Index{0};

  /// An operation goes on when `source` has ended and `lag` has passed after that.
  struct Wait {
    Index source = kNone;  ///< kNone: time 0
    Index lag = kNone;     ///< a number that the builder gives a meaning; kNone: no time
    WaitReason reason = WaitReason::kRank;
  };
  /// Operations that begin together; most groups have one.
  struct Group {
    Index first = 0;  ///< they are [first, end) of the order
    Index end = 0;
  };

  void reserve(std::size_t operations, std::size_t waits);
  /// Adds operations of groups of their own. Returns the number of the first.
  Index add(std::size_t count = 1);
  /// The same for those that are given.
  Index addGiven(std::size_t count = 1);
  /// Adds a wait after the others of `operation`. Operations must not descend from call to call.
  void wait(Index operation, const Wait& wait) {
    if (operation >= firstWait_.size()) {
      firstWait_.resize(operation + 1, static_cast<Index>(waits_.size()));
    }
    waits_.push_back(wait);
  }
  /// The same in any order. These come after those of wait().
  void waitToo(Index operation, const Wait& wait) { more_.emplace_back(operation, wait); }
  /// The group of `operation` becomes that of `other`.
  void beginTogether(Index operation, Index other);

  /// Ends the building, and orders the groups so that each comes after all that it waits for.
  /// Returns whether that is possible; else those that can run are ordered. Linear.
  bool order();
  /// The same, for waits that may contradict each other. Where operations wait for each other, the
  /// one goes on whose begin comes first; of equal ones, the first. Its waits are taken away: their
  /// source becomes kNone.
  void orderBy(const std::function<Nanoseconds(Index)>& beginOf);

  std::size_t size() const { return groupOf_.size(); }
  bool isGiven(Index operation) const { return groupOf_[operation] == kNone; }
  std::span<const Wait> waits(Index operation) const {
    return std::span(waits_).subspan(firstWait_[operation],
                                     firstWait_[operation + 1] - firstWait_[operation]);
  }
  /// In an order in which they can run.
  const std::vector<Group>& groups() const { return groups_; }
  std::span<const Index> members(const Group& group) const {
    return std::span(order_).subspan(group.first, group.end - group.first);
  }
  /// After order(): whether it can run.
  bool canRun(Index operation) const { return isDone_[operation] != 0; }
  /// After order(): the operations of its group, the operation among them. Linear, where it cannot
  /// run.
  std::vector<Index> groupOf(Index operation) const;

 private:
  class Walk;

  void finish();

  std::vector<Wait> waits_;
  std::vector<Index> firstWait_;              // by operation
  std::vector<std::pair<Index, Wait>> more_;  // while it is built
  std::vector<Index> groupOf_;                // by operation: the first of its group; kNone: given
  bool hasGroups_ = false;
  std::vector<char> isDone_;
  std::vector<Index> order_;
  std::vector<Group> groups_;
};

}  // namespace pipetrace
