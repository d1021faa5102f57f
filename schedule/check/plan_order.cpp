#include "schedule/check/plan_order.h"

#include <utility>

namespace pipetrace {
namespace {

/// Runs each rank as far as it can, and again when an action that it waits for has been done.
class Walk {
 public:
  Walk(const Plan& plan, const WaitRules& rules) : plan_(plan), rules_(rules) {
    const std::size_t ranks = plan.ranks.size();
    result_.done.assign(ranks, 0);
    nextWaiter_.assign(ranks, kNobody);
    for (std::size_t r = ranks; r-- > 0;) ready_.push_back(static_cast<int>(r));
    for (const auto& actions : plan.ranks) {
      firstCell_.push_back(total_);
      total_ += actions.size();
    }
    firstWaiter_.assign(total_, kNobody);
    result_.order.reserve(total_);
  }

  PlanOrder run() {
    while (!ready_.empty()) {
      const int rank = ready_.back();
      ready_.pop_back();
      advance(rank);
    }
    result_.complete = result_.order.size() == total_;
    return std::move(result_);
  }

 private:
  static constexpr int kNobody = -1;

  void advance(int rank) {
    const auto size = static_cast<int>(plan_.ranks[static_cast<std::size_t>(rank)].size());
    int& done = result_.done[static_cast<std::size_t>(rank)];
    while (done < size) {
      for (const WaitRules::Wait& wait : rules_.waitsOf({rank, done})) {
        const int needed = wait.doneNeeded();
        if (result_.done[static_cast<std::size_t>(wait.position.rank)] >= needed) continue;
        int& first = waitersOf(wait.position.rank, needed - 1);
        nextWaiter_[static_cast<std::size_t>(rank)] = std::exchange(first, rank);
        return;
      }
      result_.order.push_back({rank, done});
      wakeWaitersOf(rank, done++);
    }
  }

  void wakeWaitersOf(int rank, int cell) {
    int waiter = std::exchange(waitersOf(rank, cell), kNobody);
    while (waiter != kNobody) {
      ready_.push_back(waiter);
      waiter = std::exchange(nextWaiter_[static_cast<std::size_t>(waiter)], kNobody);
    }
  }

  int& waitersOf(int rank, int cell) {
    return firstWaiter_[firstCell_[static_cast<std::size_t>(rank)] +
                        static_cast<std::size_t>(cell)];
  }

  const Plan& plan_;
  const WaitRules& rules_;
  PlanOrder result_;
  std::vector<int> ready_;
  // A rank waits for one action at a time: lists of ranks, threaded through two arrays.
  std::vector<int> firstWaiter_;  // by action
  std::vector<int> nextWaiter_;   // by rank
  std::vector<std::size_t> firstCell_;
  std::size_t total_ = 0;
};

}  // namespace

PlanOrder planOrder(const Plan& plan, const WaitRules& rules) { return Walk(plan, rules).run(); }

PlanOrder planOrder(const Plan& plan, const PlanIndex& index) {
  const CreditGivers credits(plan, index);
  return planOrder(plan, WaitRules(plan, index, kUnboundedBuffers, &credits));
}

}  // namespace pipetrace
