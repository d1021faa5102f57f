#include "schedule/check/deadlock.h"

#include <algorithm>
#include <string>
#include <vector>

namespace pipetrace {
namespace {

using Index = PlanNetwork::Index;
using Kind = PlanNetwork::Kind;
using Position = PlanIndex::Position;
using Wait = PlanNetwork::Wait;

class Cycle {
 public:
  Cycle(const PlanNetwork& network, bool ofComputeOnly)
      : network_(network), waits_(network.waits()), ofComputeOnly_(ofComputeOnly) {}

  /// Follows the waits from the first stuck action until one repeats.
  Problem find() const {
    std::vector<char> seen(static_cast<std::size_t>(network_.actionCount()), 0);
    int stuck = firstStuck();
    while (seen[static_cast<std::size_t>(stuck)]++ == 0) stuck = stuckBefore(needOf(stuck).needed);
    const int first = stuck;
    std::string text = "deadlock: ";
    do {
      const Need need = needOf(stuck);
      const int needed = actionBefore(need.needed);
      text += named(stuck) + (need.isCredit ? " waits for a credit from " : " waits for ") +
              named(needed);
      stuck = stuckBefore(need.needed);
      if (stuck != needed) text += ", which comes after " + toText(network_.action(stuck));
      text += "; ";
    } while (stuck != first);
    return {network_.rankOf(first), cellOf(first), text + "that closes the cycle"};
  }

 private:
  /// The operation that another waits for.
  struct Need {
    Index needed = 0;
    bool isCredit = false;
    bool exists = false;
  };

  bool isOpen(Index operation) const {
    return operation != WaitNetwork::kNone && !waits_.canRun(operation);
  }
  static bool isPlace(const Wait& wait) {
    return wait.reason == WaitReason::kRank || wait.reason == WaitReason::kLine;
  }
  Kind kindOf(Index operation) const { return network_.operation(operation).kind; }

  /// The one before it on its rank or line, if it still waits.
  Index openBefore(Index operation) const {
    const auto waits = waits_.waits(operation);
    const bool hasPlace = !waits.empty() && isPlace(waits.front());
    return hasPlace && isOpen(waits.front().source) ? waits.front().source : WaitNetwork::kNone;
  }

  int firstStuck() const {
    for (int number = 0; number < network_.actionCount(); ++number) {
      const bool isOnRank = !network_.hasLines() || isCompute(network_.action(number).kind);
      if (isOnRank && isOpen(network_.ofAction(number))) {
        return stuckBefore(network_.ofAction(number));
      }
    }
    return 0;
  }

  /// The action on which the rank or line of an operation is stuck: the first that cannot run. It
  /// may wait for a hand-over or an update before it.
  int stuckBefore(Index operation) const {
    for (Index before = openBefore(operation); before != WaitNetwork::kNone;
         before = openBefore(before)) {
      operation = before;
    }
    return actionFrom(operation);
  }

  /// The action that comes after a hand-over or an update on its rank; an action itself.
  int actionFrom(Index operation) const {
    const PlanNetwork::Operation own = network_.operation(operation);
    if (own.kind == Kind::kAction) return own.number;
    const int end = lastOfRow(network_.rankOf(placeOf(own)));
    for (int number = placeOf(own) + 1; number <= end; ++number) {
      if (isOnRank(number) && isOpen(network_.ofAction(number))) return number;
    }
    return end;
  }

  /// The last action up to an operation on its rank.
  int actionBefore(Index operation) const {
    const PlanNetwork::Operation own = network_.operation(operation);
    if (own.kind != Kind::kUpdate) return placeOf(own);
    const auto waits = waits_.waits(operation);
    return actionBefore(waits.front().source);
  }

  /// The action that an operation of a rank belongs to.
  int placeOf(const PlanNetwork::Operation& operation) const {
    if (operation.kind != Kind::kUpdate) return operation.number;
    return placeOf(network_.operation(waits_.waits(network_.ofUpdate(operation.number))[0].source));
  }

  bool isOnRank(int number) const {
    return !network_.hasLines() || !isTransfer(network_.action(number).kind);
  }
  int lastOfRow(int rank) const {
    const auto& row = network_.plan().ranks[static_cast<std::size_t>(rank)];
    return network_.numberOf({rank, static_cast<int>(row.size()) - 1});
  }

  /// What the action waits for: its own waits first, then those of what comes before it on its rank
  /// since the action before.
  Need needOf(int stuck) const {
    const Index own = network_.ofAction(stuck);
    if (const Need need = openOf(own); need.exists) return need;
    std::vector<Index> between;
    for (Index before = openBefore(own); before != WaitNetwork::kNone;
         before = openBefore(before)) {
      between.push_back(before);
    }
    for (auto before = between.rbegin(); before != between.rend(); ++before) {
      if (const Need need = openOf(*before); need.exists) return need;
    }
    for (const Index member : waits_.groupOf(own)) {  // the other end of the message
      if (member != own) return {.needed = member, .exists = true};
    }
    return {.needed = own, .exists = true};
  }

  /// The first that an operation waits for beside its place.
  Need openOf(Index operation) const {
    for (const Wait& wait : waits_.waits(operation)) {
      if (isPlace(wait) || !isOpen(wait.source)) continue;
      const Kind kind = kindOf(wait.source);
      // These are not named, but what they wait for.
      const bool isPassed =
          kind == Kind::kMessage || kind == Kind::kReduction ||
          (kind == Kind::kHandOver && openBefore(wait.source) == WaitNetwork::kNone);
      Need need{.needed = wait.source, .exists = true};
      if (isPassed) need = openOf(wait.source);
      if (!need.exists) continue;
      need.isCredit = need.isCredit || wait.reason == WaitReason::kCredit;
      return need;
    }
    return {};
  }

  int cellOf(int number) const {
    const Position at = network_.positionOf(number);
    if (!ofComputeOnly_) return at.cell;
    const auto& actions = network_.plan().ranks[static_cast<std::size_t>(at.rank)];
    const auto before = std::count_if(actions.begin(), actions.begin() + at.cell,
                                      [](const Action& a) { return !isTransfer(a.kind); });
    return static_cast<int>(before) - (isSend(network_.action(number).kind) ? 1 : 0);
  }

  std::string named(int number) const {
    const Action& action = network_.action(number);
    const char* where = ", cell ";
    if (ofComputeOnly_ && isTransfer(action.kind)) {
      where = isSend(action.kind) ? ", after cell " : ", before cell ";
    }
    return toText(action) + " (rank " + std::to_string(network_.rankOf(number)) + where +
           std::to_string(cellOf(number)) + ")";
  }

  const PlanNetwork& network_;
  const WaitNetwork& waits_;
  bool ofComputeOnly_;
};

}  // namespace

std::optional<Problem> findDeadlock(const PlanNetwork& network, bool ofComputeOnly) {
  if (network.isComplete()) return {};
  return Cycle(network, ofComputeOnly).find();
}

}  // namespace pipetrace
