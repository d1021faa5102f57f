#include "schedule/waits/wait_network.h"

#include <algorithm>
#include <numeric>

namespace pipetrace {

void WaitNetwork::reserve(std::size_t operations, std::size_t waits) {
  groupOf_.reserve(operations);
  firstWait_.reserve(operations + 1);
  waits_.reserve(waits);
}

WaitNetwork::Index WaitNetwork::add(std::size_t count) {
  const auto first = static_cast<Index>(size());
  groupOf_.resize(size() + count);
  std::iota(groupOf_.begin() + first, groupOf_.end(), first);
  return first;
}

WaitNetwork::Index WaitNetwork::addGiven(std::size_t count) {
  const auto first = static_cast<Index>(size());
  groupOf_.resize(size() + count, kNone);
  return first;
}

void WaitNetwork::beginTogether(Index operation, Index other) {
  groupOf_[operation] = groupOf_[other];
  hasGroups_ = true;
}

/// Puts the waits of waitToo() behind those of their operations.
void WaitNetwork::finish() {
  firstWait_.resize(size() + 1, static_cast<Index>(waits_.size()));
  if (more_.empty()) return;
  std::vector<Index> shift(size() + 1, 0);  // by operation: how many go before its own
  for (const auto& [operation, wait] : more_) ++shift[operation + 1];
  std::partial_sum(shift.begin(), shift.end(), shift.begin());
  const std::size_t before = waits_.size();
  waits_.resize(before + more_.size());
  std::size_t from = before;
  for (std::size_t operation = size(); operation-- > 0;) {  // from behind, to move within the list
    if (shift[operation] == 0 && shift[operation + 1] == 0) break;
    for (; from > firstWait_[operation]; --from) {
      waits_[from - 1 + shift[operation]] = waits_[from - 1];
    }
  }
  // Behind those of its own.
  std::vector<Index> next(size());
  for (std::size_t i = 0; i < size(); ++i) next[i] = firstWait_[i + 1] + shift[i];
  for (const auto& [operation, wait] : more_) waits_[next[operation]++] = wait;
  for (std::size_t i = 0; i <= size(); ++i) firstWait_[i] += shift[i];
  more_ = {};
}

/// Runs group after group. One that waits is looked at again when what it waits for is done.
class WaitNetwork::Walk {
 public:
  explicit Walk(WaitNetwork& network) : network_(network) {
    const std::size_t count = network.size();
    network.isDone_.assign(count, 0);
    network.order_.reserve(count);
    network.groups_.reserve(count);
    firstWaiter_.assign(count, kNone);
    nextWaiter_.assign(count, kNone);
    if (network.hasGroups_) findMembers();
    for (Index i = 0; i < count; ++i) {
      if (network.isGiven(i)) {
        network.isDone_[i] = 1;
      } else {
        ++left_;
      }
    }
    for (Index i = 0; i < count; ++i) {
      if (network.groupOf_[i] == i) runFrom(i);
    }
  }

  bool isComplete() const { return left_ == 0; }
  bool isDone(Index operation) const { return network_.isDone_[operation] != 0; }

  /// Runs the group of an operation, whatever it waits for.
  void force(Index operation) {
    const Index group = network_.groupOf_[operation];
    for (const Index member : membersOf(group)) {
      for (Index w = network_.firstWait_[member]; w < network_.firstWait_[member + 1]; ++w) {
        Index& source = network_.waits_[w].source;
        if (source != kNone && !isDone(source)) source = kNone;
      }
    }
    runFrom(group);
  }

 private:
  void findMembers() {
    const std::size_t count = network_.size();
    firstMember_.assign(count + 1, 0);
    for (const Index group : network_.groupOf_) {
      if (group != kNone) ++firstMember_[group + 1];
    }
    std::partial_sum(firstMember_.begin(), firstMember_.end(), firstMember_.begin());
    members_.resize(firstMember_.back());
    std::vector<Index> next(firstMember_.begin(), firstMember_.end() - 1);
    for (Index i = 0; i < count; ++i) {
      if (const Index group = network_.groupOf_[i]; group != kNone) members_[next[group]++] = i;
    }
  }

  std::span<const Index> membersOf(const Index& group) const {
    if (firstMember_.empty()) return {&group, 1};
    return std::span(members_).subspan(firstMember_[group],
                                       firstMember_[group + 1] - firstMember_[group]);
  }

  /// What the group waits for and is not done; kNone: nothing.
  Index openOf(Index group) const {
    for (const Index member : membersOf(group)) {
      for (Index w = network_.firstWait_[member]; w < network_.firstWait_[member + 1]; ++w) {
        const Index source = network_.waits_[w].source;
        if (source != kNone && !isDone(source)) return source;
      }
    }
    return kNone;
  }

  void runFrom(Index group) {
    ready_.push_back(group);
    while (!ready_.empty()) {
      const Index next = ready_.back();
      ready_.pop_back();
      if (isDone(next)) continue;
      const Index open = openOf(next);
      if (open == kNone) {
        run(next);
      } else {
        nextWaiter_[next] = std::exchange(firstWaiter_[open], next);
      }
    }
  }

  void run(Index group) {
    const auto first = static_cast<Index>(network_.order_.size());
    for (const Index member : membersOf(group)) {
      network_.order_.push_back(member);
      network_.isDone_[member] = 1;
      --left_;
      Index waiter = std::exchange(firstWaiter_[member], kNone);
      while (waiter != kNone) {
        ready_.push_back(waiter);
        waiter = std::exchange(nextWaiter_[waiter], kNone);
      }
    }
    network_.groups_.push_back({first, static_cast<Index>(network_.order_.size())});
  }

  WaitNetwork& network_;
  // A group waits for one operation at a time: lists of groups, threaded through two arrays.
  std::vector<Index> firstWaiter_;  // by operation
  std::vector<Index> nextWaiter_;   // by group
  std::vector<Index> ready_;
  // Only where groups have several. By group: where its members begin.
  std::vector<Index> firstMember_;
  std::vector<Index> members_;
  std::size_t left_ = 0;
};

bool WaitNetwork::order() {
  finish();
  return Walk(*this).isComplete();
}

void WaitNetwork::orderBy(const std::function<Nanoseconds(Index)>& beginOf) {
  finish();
  Walk walk(*this);
  if (walk.isComplete()) return;
  std::vector<Index> byBegin(size());
  std::iota(byBegin.begin(), byBegin.end(), Index{0});
  std::stable_sort(byBegin.begin(), byBegin.end(),
                   [&](Index a, Index b) { return beginOf(a) < beginOf(b); });
  for (auto next = byBegin.begin(); !walk.isComplete(); ++next) {
    if (!walk.isDone(*next)) walk.force(*next);
  }
}

std::vector<WaitNetwork::Index> WaitNetwork::groupOf(Index operation) const {
  if (!hasGroups_) return {operation};
  std::vector<Index> members;
  for (Index i = 0; i < size(); ++i) {
    if (groupOf_[i] == groupOf_[operation]) members.push_back(i);
  }
  return members;
}

}  // namespace pipetrace
