#include "schedule/search/placement_search.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "schedule/builders/squeeze.h"
#include "schedule/search/local_search.h"
#include "schedule/search/lower_bound.h"
#include "schedule/search/plan_candidates.h"

namespace pipetrace {
namespace {

/// The number of best orders that are squeezed in every way.
constexpr std::size_t kOrdersInDetail = 4;
/// With fewer plans a search would only cost time.
constexpr long long kFewestPlans = 40;

long long jobsOf(const Plan& shape) { return 3LL * shape.numStages * shape.numMicroBatches; }

/// squeeze() knows no bandwidth: messages take it as part of their transfer.
Costs withWireInTransfer(Costs costs) {
  if (costs.bandwidth <= 0) return costs;
  std::int64_t bytes = 0;
  for (const StageCosts& stage : costs.stages) bytes = std::max(bytes, stage.message);
  costs.transfer += std::llround(static_cast<double>(bytes) / costs.bandwidth * 1e9);
  return costs;
}

}  // namespace

PlacementSearch::PlacementSearch(const Plan& shape, const Costs& costs,
                                 std::vector<std::int64_t> limits)
    : shape_(shape),
      costs_(costs),
      squeezeCosts_(withWireInTransfer(costs)),
      limits_(std::move(limits)),
      model_(shape, costs, limits_),
      bound_(lowerBound(shape, costs)) {
  // A whole backward pass is an input half that gives everything back, and nothing after it.
  wholeCosts_ = squeezeCosts_;
  for (int s = 0; s < shape_.numStages; ++s) {
    if (!isShorterWhole(s)) continue;
    StageCosts& stage = wholeCosts_.stages[static_cast<std::size_t>(s)];
    stage.backwardInput = stage.backward;
    stage.backwardWeight = 0;
    stage.freedByInput = stage.activation;
    hasWhole_ = true;
  }
  take(model_.ordersOf(oneAfterTheOther(shape)), "one after the other");
}

bool PlacementSearch::take(const JobOrders& orders, const std::string& origin) {
  if (!model_.keepsLimits(orders)) return false;
  PlanScore score;
  if (!model_.evaluate(orders, times_, score)) return false;
  if (bestScore_ && !(score < *bestScore_)) return false;
  best_ = orders;
  bestScore_ = score;
  origin_ = origin;
  return true;
}

void PlacementSearch::offer(const Plan& plan) {
  if (plan.placement.hasSeveralRanks() || plan.placement != shape_.placement) return;
  if (PlanModel::covers(plan)) take(model_.ordersOf(plan), plan.name);
  orders_.push_back({orderOf(plan), std::nullopt});
  orders_.back().jobs.name = plan.name + ", squeezed";
}

bool PlacementSearch::isShorterWhole(int stage) const {
  const StageCosts& costs = costs_.stages[static_cast<std::size_t>(stage)];
  return costs.backward < costs.backwardInput + costs.backwardWeight;
}

void PlacementSearch::makeWhole(JobOrders& orders) const {
  for (std::vector<PlanJob>& jobs : orders) {
    std::erase_if(jobs, [&](const PlanJob& job) {
      return job.kind == JobKind::kBackwardWeight && isShorterWhole(job.stage);
    });
    for (PlanJob& job : jobs) {
      const bool isWhole = job.kind == JobKind::kBackwardInput && isShorterWhole(job.stage);
      if (isWhole) job.kind = JobKind::kBackward;
    }
  }
}

void PlacementSearch::squeezeOrder(Order& order, const Way& way) {
  const auto plan = squeeze(order.jobs, way.whole ? wholeCosts_ : squeezeCosts_,
                            {limits_, way.overtake, way.inputFirst, way.fillPercent});
  if (!plan) return;
  JobOrders orders = model_.ordersOf(*plan);
  if (way.whole) makeWhole(orders);
  PlanScore score;
  if (!model_.evaluate(orders, times_, score)) return;
  if (!order.score || score < *order.score) order.score = score;
  if (!bestScore_ || score < *bestScore_) take(orders, order.jobs.name);
}

void PlacementSearch::squeezeOrders(long long jobs) {
  const long long each = jobsOf(shape_);
  if (isOptimal() || jobs < each) return;
  for (Plan& order : blockOrders(shape_, squeezeCosts_)) {
    order.name = "squeezed block";
    orders_.push_back({std::move(order), std::nullopt});
  }
  for (Order& order : orders_) {
    for (const bool whole : {false, true}) {
      if (whole && !hasWhole_) continue;
      if (isOptimal() || jobs < each) return;
      squeezeOrder(order, {.fillPercent = 50, .whole = whole});
      jobs -= each;
    }
  }
  std::stable_sort(orders_.begin(), orders_.end(), [](const Order& a, const Order& b) {
    return a.score && (!b.score || *a.score < *b.score);
  });
  for (std::size_t i = 0; i < std::min(kOrdersInDetail, orders_.size()); ++i) {
    squeezeInDetail(orders_[i], jobs);
  }
}

void PlacementSearch::squeezeInDetail(Order& order, long long& jobs) {
  const long long each = jobsOf(shape_);
  for (const bool whole : {false, true}) {
    if (whole && !hasWhole_) continue;
    for (const bool overtake : {false, true}) {
      for (const bool inputFirst : {false, true}) {
        for (const int fillPercent : {0, 50, 100}) {
          const bool isDone = !overtake && !inputFirst && fillPercent == 50;
          if (isDone) continue;
          if (isOptimal() || jobs < each) return;
          squeezeOrder(order, {overtake, inputFirst, fillPercent, whole});
          jobs -= each;
        }
      }
    }
  }
}

bool PlacementSearch::isOptimal() const {
  return bestScore_ && bestScore_->length <= bound_.length &&
         bestScore_->longestSpan <= bound_.longestSpan;
}

void PlacementSearch::improveBest(long long jobs) {
  if (jobs < kFewestPlans * jobsOf(shape_)) return;
  JobOrders orders = best_;
  const PlanScore score = improve(model_, orders, {jobs, bound_});
  if (score < *bestScore_) {
    best_ = std::move(orders);
    bestScore_ = score;
    origin_ += ", improved";
  }
  mergeHalves();
}

/// Where the whole backward pass is shorter than its halves, joins them again wherever no job waits
/// for the first of them.
void PlacementSearch::mergeHalves() {
  for (int s = 0; s < shape_.numStages; ++s) {
    if (!isShorterWhole(s)) continue;
    JobOrders merged = best_;
    auto& jobs = merged[model_.rankOf(s)];
    for (std::size_t i = 0; i + 1 < jobs.size(); ++i) {
      if (jobs[i].kind != JobKind::kBackwardInput || jobs[i + 1].slot != jobs[i].slot) continue;
      if (jobs[i].stage != s) continue;
      jobs[i].kind = JobKind::kBackward;
      jobs.erase(jobs.begin() + static_cast<std::ptrdiff_t>(i + 1));
    }
    take(merged, origin_);
  }
}

Plan PlacementSearch::best() const {
  Plan plan = model_.planOf(best_);
  plan.name = origin_;
  return plan;
}

}  // namespace pipetrace
