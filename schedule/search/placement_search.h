#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "schedule/search/plan_model.h"

namespace pipetrace {

/// A length and a span that no plan of this placement beats, whatever its memory. Each rank gets
/// its first input once it has come through the stages before, and then does all its work. Its last
/// input half still has the way back to the first stage before it. Costs::lr and Costs::optimizer
/// are left out; the sum of ends is 0.
PlanScore lowerBound(const Plan& shape, const Costs& costs);

/// When a search for a better plan stops.
struct SearchBudget {
  long long jobs = 0;    ///< how many jobs are timed, over all plans tried
  PlanScore lowerBound;  ///< what no plan can beat: length, and longest span
};

/// Makes a plan better by moving jobs that lie on its critical path. A job swaps places with its
/// neighbours there, and weight halves go into gaps or out of the way. Worse plans are accepted
/// too, up to a threshold that falls to nothing. (Threshold accepting, Dueck and Scheuer 1990; the
/// neighbourhood is that of job-shop scheduling.) `orders`, which must keep the model's limits,
/// becomes the best plan that is seen. The same input gives the same plan.
PlanScore improve(PlanModel& model, JobOrders& orders, const SearchBudget& budget);

/// The search for the best plan of one placement of the stages. It takes plans that are offered to
/// it, makes more of them by squeezing orders, and improves the best.
class PlacementSearch {
 public:
  /// `limits`, by rank: the most that activations may take. `costs` must outlive the search.
  PlacementSearch(const Plan& shape, const Costs& costs, std::vector<std::int64_t> limits);

  /// Ignores plans of another placement. Those that do not keep the limits, or that the model does
  /// not cover, serve as orders.
  void offer(const Plan& plan);
  /// Squeezes orders, those of the plans offered among them, until about `jobs` were placed.
  void squeezeOrders(long long jobs);
  /// Improves the best plan until about `jobs` were timed.
  void improveBest(long long jobs);

  bool isOptimal() const;
  const std::optional<PlanScore>& score() const { return bestScore_; }
  /// The best plan, whose name is what it came from; there must be one.
  Plan best() const;

 private:
  struct Order {
    Plan jobs;
    std::optional<PlanScore> score;
  };
  /// How an order is squeezed: see SqueezeOptions; and whether backward passes stay whole where
  /// that is shorter.
  struct Way {
    bool overtake = false;
    bool inputFirst = false;
    int fillPercent = 0;
    bool whole = false;
  };
  void squeezeOrder(Order& order, const Way& way);
  void squeezeInDetail(Order& order, long long& jobs);
  bool isShorterWhole(int stage) const;
  void makeWhole(JobOrders& orders) const;
  bool take(const JobOrders& orders, const std::string& origin);
  void mergeHalves();

  Plan shape_;
  const Costs& costs_;
  Costs squeezeCosts_;
  Costs wholeCosts_;
  bool hasWhole_ = false;
  std::vector<std::int64_t> limits_;
  PlanModel model_;
  PlanScore bound_;
  PlanTimes times_;
  std::vector<Order> orders_;
  JobOrders best_;
  std::optional<PlanScore> bestScore_;
  std::string origin_;
};

}  // namespace pipetrace
