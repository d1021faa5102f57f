#include "schedule/plan_order.h"

#include <utility>

namespace pipetrace {
namespace {

/// Runs each rank as far as it can, and again when what it waits for has been done.
class Walk {
 public:
  Walk(const Schedule& schedule, const PlanIndex& index) : schedule_(schedule), index_(index) {
    const std::size_t ranks = schedule.ranks.size();
    result_.done.assign(ranks, 0);
    waiters_.resize(ranks);
    for (std::size_t r = 0; r < ranks; ++r) {
      total_ += schedule.ranks[r].size();
      ready_.push_back(static_cast<int>(r));
    }
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
  struct Waiter {
    int cell;  // of the rank that is waited for
    int rank;  // who waits
  };

  void advance(int rank) {
    const auto& actions = schedule_.ranks[static_cast<std::size_t>(rank)];
    int& done = result_.done[static_cast<std::size_t>(rank)];
    while (done < static_cast<int>(actions.size())) {
      for (const PlanIndex::Position& input :
           index_.inputsOf(actions[static_cast<std::size_t>(done)])) {
        if (input.cell < result_.done[static_cast<std::size_t>(input.rank)]) continue;
        waiters_[static_cast<std::size_t>(input.rank)].push_back({input.cell, rank});
        return;
      }
      result_.order.push_back({rank, done});
      wakeWaitersOf(rank, done++);
    }
  }

  void wakeWaitersOf(int rank, int cell) {
    auto& list = waiters_[static_cast<std::size_t>(rank)];
    std::erase_if(list, [&](const Waiter& waiter) {
      if (waiter.cell > cell) return false;
      ready_.push_back(waiter.rank);
      return true;
    });
  }

  const Schedule& schedule_;
  const PlanIndex& index_;
  PlanOrder result_;
  std::vector<int> ready_;
  std::vector<std::vector<Waiter>> waiters_;  // a rank waits for one action at a time: short lists
  std::size_t total_ = 0;
};

}  // namespace

PlanOrder planOrder(const Schedule& schedule, const PlanIndex& index) {
  return Walk(schedule, index).run();
}

}  // namespace pipetrace
