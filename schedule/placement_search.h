#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "schedule/plan_model.h"

namespace pipetrace {

/// The search for the best plan of one placement of the stages: plans are offered to it, it makes
/// more of them by squeezing orders, and improves the best.
class PlacementSearch {
 public:
  /// `limits`, by rank: what activations may take. `costs` must outlive the search.
  PlacementSearch(const Schedule& shape, const Costs& costs, std::vector<std::int64_t> limits);

  /// Takes notice of plans of this placement only. Those that do not keep the limits, or that the
  /// model does not cover, serve as orders.
  void offer(const Schedule& plan);
  /// Squeezes orders, those of the plans offered among them, until about so many jobs were placed.
  void squeezeOrders(long long jobs);
  /// Improves the best plan until about so many jobs were timed.
  void improveBest(long long jobs);

  bool isOptimal() const;
  const std::optional<PlanScore>& score() const { return bestScore_; }
  /// The best plan, whose name is what it came from; there must be one.
  Schedule best() const;

 private:
  struct Order {
    Schedule jobs;
    std::optional<PlanScore> score;
  };
  void squeezeOrder(Order& order, bool overtake, bool inputFirst, int fillPercent);
  bool take(const JobOrders& orders, const std::string& origin);
  void mergeHalves();

  Schedule shape_;
  const Costs& costs_;
  Costs squeezeCosts_;
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
