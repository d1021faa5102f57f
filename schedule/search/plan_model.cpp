#include "schedule/search/plan_model.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace pipetrace {
namespace {

constexpr Nanoseconds kNotYet = -1;

bool isBackward(JobKind kind) {
  return kind == JobKind::kBackward || kind == JobKind::kBackwardInput;
}

}  // namespace

PlanModel::PlanModel(const Plan& shape, const Costs& costs, std::vector<std::int64_t> limits)
    : limits_(std::move(limits)) {
  shape_.name = shape.name;
  shape_.numStages = shape.numStages;
  shape_.numMicroBatches = shape.numMicroBatches;
  shape_.placement = shape.placement;
  shape_.ranks.resize(shape.ranks.size());
  for (int s = 0; s < shape.numStages; ++s) {
    const StageCosts& stage = costs.stages[static_cast<std::size_t>(s)];
    const std::int64_t kept = stage.activation - stage.freedByInput;
    lengths_.push_back({stage.forward, stage.backward, stage.backwardInput, stage.backwardWeight});
    const std::int64_t working = stage.working;
    memoryBegin_.push_back({stage.activation, working, working, 0});
    memoryEnd_.push_back({0, -stage.activation - working, -stage.freedByInput - working, -kept});
    down_.push_back(s + 1 < shape.numStages ? linkBetween(s, s + 1, costs) : Link{});
    up_.push_back(s > 0 ? linkBetween(s, s - 1, costs) : Link{});
  }
  const auto slots =
      static_cast<std::size_t>(shape.numStages) * static_cast<std::size_t>(shape.numMicroBatches);
  forwardArrival_.resize(slots);
  backwardArrival_.resize(slots);
  forwardDone_.resize(slots);
  backwardDone_.resize(slots);
  ranks_.resize(shape.ranks.size());
  linkFree_.resize(costs.bandwidth > 0 ? ranks_.size() * ranks_.size() : 0);
}

PlanModel::Link PlanModel::linkBetween(int from, int to, const Costs& costs) const {
  if (rankOf(from) == rankOf(to)) return {};
  Link link{.transfer = costs.transfer, .leavesRank = true};
  if (costs.bandwidth > 0) {
    const auto bytes =
        static_cast<double>(costs.stages[static_cast<std::size_t>(std::min(from, to))].message);
    link.wire = std::llround(bytes / costs.bandwidth * 1e9);
    link.index = rankOf(from) * numRanks() + rankOf(to);
  }
  return link;
}

bool PlanModel::covers(const Plan& plan) {
  if (plan.placement.hasSeveralRanks() || plan.replicas > 1 || plan.isAsynchronous()) return false;
  if (plan.credits > 0) return false;
  for (const auto& row : plan.ranks) {
    for (const Action& action : row) {
      const bool isCovered = action.kind == JobKind::kForward || isBackward(action.kind) ||
                             action.kind == JobKind::kBackwardWeight;
      if (!isCovered || action.isPart()) return false;
    }
  }
  return true;
}

JobOrders PlanModel::ordersOf(const Plan& plan) const {
  JobOrders orders;
  for (const auto& row : plan.ranks) {
    auto& jobs = orders.emplace_back();
    jobs.reserve(row.size());
    for (const Action& a : row) {
      jobs.push_back({a.kind, a.stage, a.stage * numMicroBatches() + a.microBatch});
    }
  }
  return orders;
}

Plan PlanModel::planOf(const JobOrders& orders) const {
  Plan plan = shape_;
  for (std::size_t r = 0; r < orders.size(); ++r) {
    plan.ranks[r].reserve(orders[r].size());
    for (const PlanJob& job : orders[r]) {
      plan.ranks[r].push_back({job.kind, job.stage, job.slot % numMicroBatches()});
    }
  }
  return plan;
}

bool PlanModel::keepsLimit(std::size_t rank, const std::vector<PlanJob>& jobs) const {
  std::int64_t held = 0;
  for (const PlanJob& job : jobs) {
    const auto stage = static_cast<std::size_t>(job.stage);
    held += memoryBegin_[stage][indexOf(job.kind)];
    if (held > limits_[rank]) return false;
    held += memoryEnd_[stage][indexOf(job.kind)];
  }
  return true;
}

bool PlanModel::keepsLimits(const JobOrders& orders) const {
  for (std::size_t r = 0; r < orders.size(); ++r) {
    if (!keepsLimit(r, orders[r])) return false;
  }
  return true;
}

Nanoseconds PlanModel::arrivalOf(const PlanJob& job) const {
  const auto slot = static_cast<std::size_t>(job.slot);
  return job.kind == JobKind::kForward ? forwardArrival_[slot] : backwardArrival_[slot];
}

void PlanModel::hand(const Link& link, Nanoseconds end, std::vector<Nanoseconds>& arrivals,
                     std::size_t slot, JobKind kind, const JobOrders& orders, int toStage) {
  if (!link.leavesRank) {
    arrivals[slot] = end;
    return;
  }
  if (link.wire > 0) {
    // A rank sends in the order of its jobs, so the turns of a link follow at once.
    Nanoseconds& free = linkFree_[link.index];
    end = std::max(free, end) + link.wire;
    free = end;
  }
  arrivals[slot] = end + link.transfer;
  const std::size_t to = rankOf(toStage);
  const std::size_t next = ranks_[to].next;
  if (next >= orders[to].size()) return;
  const PlanJob& waiting = orders[to][next];
  const bool isForward = waiting.kind == JobKind::kForward;
  if (static_cast<std::size_t>(waiting.slot) == slot && isForward == (kind == JobKind::kForward)) {
    runnable_.push_back(to);
  }
}

/// Runs a rank's jobs until one's input is missing. False: that input can never come.
bool PlanModel::advance(const JobOrders& orders, std::size_t rank, PlanTimes& times) {
  RankState& state = ranks_[rank];
  const auto& jobs = orders[rank];
  const auto microBatches = static_cast<std::size_t>(numMicroBatches());
  for (; state.next < jobs.size(); ++state.next) {
    const PlanJob& job = jobs[state.next];
    const auto slot = static_cast<std::size_t>(job.slot);
    const auto stage = static_cast<std::size_t>(job.stage);
    Nanoseconds begin = state.free;
    if (job.kind == JobKind::kForward) {
      if (forwardArrival_[slot] == kNotYet) return true;
      begin = std::max(begin, forwardArrival_[slot]);
    } else if (isBackward(job.kind)) {
      if (!forwardDone_[slot]) return false;
      if (backwardArrival_[slot] == kNotYet) return true;
      begin = std::max(begin, backwardArrival_[slot]);
    } else if (!backwardDone_[slot]) {
      return false;
    }
    times.begin[rank][state.next] = begin;
    state.free = begin + lengths_[stage][indexOf(job.kind)];
    if (job.kind == JobKind::kForward) {
      forwardDone_[slot] = 1;
      times.forwardPosition[slot] = static_cast<int>(state.next);
      if (job.stage + 1 == numStages()) {
        backwardArrival_[slot] = state.free;
      } else {
        hand(down_[stage], state.free, forwardArrival_, slot + microBatches, job.kind, orders,
             job.stage + 1);
      }
    } else if (isBackward(job.kind)) {
      backwardDone_[slot] = 1;
      times.backwardPosition[slot] = static_cast<int>(state.next);
      if (job.stage > 0) {
        hand(up_[stage], state.free, backwardArrival_, slot - microBatches, job.kind, orders,
             job.stage - 1);
      }
    }
  }
  return true;
}

bool PlanModel::evaluate(const JobOrders& orders, PlanTimes& times, PlanScore& score) {
  std::fill(forwardArrival_.begin(), forwardArrival_.end(), kNotYet);
  std::fill_n(forwardArrival_.begin(), numMicroBatches(), 0);
  std::fill(backwardArrival_.begin(), backwardArrival_.end(), kNotYet);
  std::fill(forwardDone_.begin(), forwardDone_.end(), 0);
  std::fill(backwardDone_.begin(), backwardDone_.end(), 0);
  std::fill(linkFree_.begin(), linkFree_.end(), 0);
  std::fill(ranks_.begin(), ranks_.end(), RankState{});
  times.begin.resize(orders.size());
  times.forwardPosition.resize(forwardArrival_.size());
  times.backwardPosition.resize(forwardArrival_.size());
  runnable_.clear();
  for (std::size_t r = 0; r < orders.size(); ++r) {
    times.begin[r].resize(orders[r].size());
    runnable_.push_back(orders.size() - 1 - r);
  }
  while (!runnable_.empty()) {
    const std::size_t rank = runnable_.back();
    runnable_.pop_back();
    if (!advance(orders, rank, times)) return false;
  }
  PlanScore found;
  for (std::size_t r = 0; r < orders.size(); ++r) {
    if (ranks_[r].next < orders[r].size()) return false;
    found.length = std::max(found.length, ranks_[r].free);
    found.longestSpan = std::max(found.longestSpan, ranks_[r].free - times.begin[r].front());
    found.sumOfEnds += ranks_[r].free;
  }
  score = found;
  return true;
}

}  // namespace pipetrace
