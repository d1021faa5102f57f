#include "schedule/search/placement_search.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "schedule/builders/squeeze.h"
#include "schedule/search/plan_candidates.h"

namespace pipetrace {
namespace {

/// The least time that a micro-batch's backward pass takes, to the end or to its gradient.
Nanoseconds leastBackward(const StageCosts& stage) {
  return std::min(stage.backward, stage.backwardInput + stage.backwardWeight);
}
Nanoseconds leastInput(const StageCosts& stage) {
  return std::min(stage.backward, stage.backwardInput);
}

/// A job goes from one position of its rank to another, and those between close up.
struct Move {
  std::size_t rank = 0;
  std::size_t from = 0;
  std::size_t to = 0;
};

/// Jobs of one rank that lie on the critical path, one right after the other.
struct Block {
  std::size_t rank = 0;
  std::size_t first = 0;
  std::size_t last = 0;
};

/// The most places by which a job is moved within its block.
constexpr std::size_t kReach = 6;
/// The number of gaps in which a weight half is tried.
constexpr int kGaps = 3;
/// The threshold to begin with, as a part of the length. It is less for a plan so large that fewer
/// than kManyPlans can be tried: the way back from far would not be found.
constexpr double kLargestThreshold = 0.05;
constexpr double kManyPlans = 5000;

void apply(JobOrders& orders, const Move& move) {
  auto& jobs = orders[move.rank];
  const auto at = [&](std::size_t i) { return jobs.begin() + static_cast<std::ptrdiff_t>(i); };
  if (move.from < move.to) {
    std::rotate(at(move.from), at(move.from + 1), at(move.to + 1));
  } else {
    std::rotate(at(move.to), at(move.from), at(move.from + 1));
  }
}

class Search {
 public:
  Search(PlanModel& model, const JobOrders& orders, const SearchBudget& budget, double threshold)
      : model_(model), best_(orders), current_(orders), budget_(budget) {
    for (const auto& jobs : orders) jobCount_ += static_cast<long long>(jobs.size());
    left_ = budget.jobs;
    const double plans = static_cast<double>(budget.jobs) / static_cast<double>(jobCount_);
    threshold_ = threshold * std::min(1.0, plans / kManyPlans);
    evaluateCurrent();
    bestScore_ = currentScore_;
  }

  PlanScore run() {
    collectMoves();
    while (left_ > 0 && !isOptimal()) {
      if (moves_.empty()) {
        if (!restart()) break;
        continue;
      }
      const std::size_t pick = random(moves_.size());
      const Move move = moves_[pick];
      moves_[pick] = moves_.back();
      moves_.pop_back();
      if (attempt(move)) collectMoves();
    }
    return bestScore_;
  }

 private:
  bool isOptimal() const {
    return bestScore_.length <= budget_.lowerBound.length &&
           bestScore_.longestSpan <= budget_.lowerBound.longestSpan;
  }
  /// Whether the length cannot shrink any more, so that the longest span is what to improve.
  bool looksAtSpans() const { return bestScore_.length <= budget_.lowerBound.length; }

  std::size_t random(std::size_t below) {
    // xorshift64
    seed_ ^= seed_ << 13;
    seed_ ^= seed_ >> 7;
    seed_ ^= seed_ << 17;
    return static_cast<std::size_t>(seed_ % below);
  }

  bool evaluateCurrent() {
    left_ -= jobCount_;
    return model_.evaluate(current_, scratch_, candidateScore_) &&
           (std::swap(scratch_, times_), currentScore_ = candidateScore_, true);
  }

  /// Goes back to the best plan and changes one job; false when there is nothing to move.
  bool restart() {
    current_ = best_;
    evaluateCurrent();
    collectMoves();
    if (moves_.empty()) return false;
    const Move move = moves_[random(moves_.size())];
    apply(current_, move);
    if (!model_.keepsLimit(move.rank, current_[move.rank]) || !evaluateCurrent()) {
      apply(current_, {move.rank, move.to, move.from});
      evaluateCurrent();
      // All moves failed from here before: one that cannot be done ends the search.
      return ++failures_ < 20;
    }
    collectMoves();
    return true;
  }

  bool attempt(const Move& move) {
    apply(current_, move);
    left_ -= jobCount_ / 8;
    if (model_.keepsLimit(move.rank, current_[move.rank])) {
      left_ -= jobCount_;
      if (model_.evaluate(current_, scratch_, candidateScore_) && isTaken(candidateScore_)) {
        std::swap(scratch_, times_);
        currentScore_ = candidateScore_;
        if (currentScore_ < bestScore_) {
          bestScore_ = currentScore_;
          best_ = current_;
        }
        return true;
      }
    }
    apply(current_, {move.rank, move.to, move.from});
    return false;
  }

  bool isTaken(const PlanScore& score) const {
    if (score < currentScore_) return true;
    const double left = static_cast<double>(left_) / static_cast<double>(budget_.jobs);
    const auto threshold =
        static_cast<Nanoseconds>(threshold_ * static_cast<double>(bestScore_.length) * left);
    if (!looksAtSpans()) return score.length <= bestScore_.length + threshold;
    return score.length <= bestScore_.length &&
           score.longestSpan <= bestScore_.longestSpan + threshold;
  }

  Nanoseconds endOf(std::size_t rank, std::size_t i) const {
    return times_.begin[rank][i] + model_.lengthOf(current_[rank][i]);
  }

  /// The rank whose last job sets the length or the longest span.
  std::size_t criticalRank() const {
    std::size_t critical = 0;
    Nanoseconds worst = -1;
    for (std::size_t r = 0; r < current_.size(); ++r) {
      if (current_[r].empty()) continue;
      const Nanoseconds first = looksAtSpans() ? times_.begin[r].front() : 0;
      const Nanoseconds value = endOf(r, current_[r].size() - 1) - first;
      if (value <= worst) continue;
      worst = value;
      critical = r;
    }
    return critical;
  }

  void collectMoves() {
    moves_.clear();
    std::size_t rank = criticalRank();
    std::size_t last = current_[rank].size() - 1;
    while (true) {
      const std::size_t first = firstOfBlock(rank, last);
      addMoves({rank, first, last});
      const PlanJob& job = current_[rank][first];
      const bool isForward = job.kind == JobKind::kForward;
      if (times_.begin[rank][first] == 0 || job.kind == JobKind::kBackwardWeight) return;
      const int from = job.stage + (isForward ? -1 : 1);
      if (from < 0 || from >= model_.numStages()) return;
      const int slot = job.slot + (isForward ? -1 : 1) * model_.numMicroBatches();
      const auto& positions = isForward ? times_.forwardPosition : times_.backwardPosition;
      rank = model_.rankOf(from);
      last = static_cast<std::size_t>(positions[static_cast<std::size_t>(slot)]);
    }
  }

  std::size_t firstOfBlock(std::size_t rank, std::size_t last) const {
    std::size_t first = last;
    while (first > 0 && endOf(rank, first - 1) == times_.begin[rank][first]) --first;
    return first;
  }

  void addMoves(const Block& block) {
    const auto& jobs = current_[block.rank];
    const auto [rank, first, last] = block;
    for (std::size_t to = last; to-- > first && last - to <= kReach;) add({rank, last, to});
    for (std::size_t to = first + 1; to <= last && to - first <= kReach; ++to) {
      if (to != last || to - first > 1) add({rank, first, to});
    }
    for (std::size_t i = first; i <= last; ++i) {
      if (jobs[i].kind != JobKind::kBackwardWeight) continue;
      if (i < last) add({rank, i, last});
      addGaps(block, i);
    }
  }

  /// The gaps nearest to a weight half, before its block and after it.
  void addGaps(const Block& block, std::size_t weight) {
    const auto& jobs = current_[block.rank];
    const auto& begin = times_.begin[block.rank];
    int found = 0;
    for (std::size_t i = block.first; i > 0 && found < kGaps; --i) {
      if (jobs[i].slot == jobs[weight].slot && jobs[i].kind == JobKind::kBackwardInput) break;
      if (begin[i] == endOf(block.rank, i - 1)) continue;
      add({block.rank, weight, i});
      ++found;
    }
    found = 0;
    for (std::size_t i = block.last; i + 1 < jobs.size() && found < kGaps; ++i) {
      if (begin[i + 1] == endOf(block.rank, i)) continue;
      add({block.rank, weight, i});
      ++found;
    }
  }

  void add(const Move& move) {
    if (move.from != move.to) moves_.push_back(move);
  }

  PlanModel& model_;
  JobOrders best_;
  JobOrders current_;
  SearchBudget budget_;
  PlanScore bestScore_;
  PlanScore currentScore_;
  PlanScore candidateScore_;
  PlanTimes times_;
  PlanTimes scratch_;
  std::vector<Move> moves_;
  long long jobCount_ = 0;
  long long left_ = 0;
  double threshold_ = 0;
  int failures_ = 0;
  std::uint64_t seed_ = 88172645463325252ULL;

 public:
  JobOrders takeBest() { return std::move(best_); }
};

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

PlanScore lowerBound(const Plan& shape, const Costs& costs) {
  const auto stages = static_cast<std::size_t>(shape.numStages);
  const auto hop = [&](std::size_t s) {  // from stage s to s + 1, or back
    return shape.placement.ranksOfStage[s] == shape.placement.ranksOfStage[s + 1] ? 0
                                                                                  : costs.transfer;
  };
  // From the step's start to a stage's first input, and from its last gradient to the step's end.
  std::vector<Nanoseconds> head(stages, 0);
  std::vector<Nanoseconds> tail(stages, 0);
  for (std::size_t s = 1; s < stages; ++s) {
    head[s] = head[s - 1] + costs.stages[s - 1].forward + hop(s - 1);
    const Nanoseconds below =
        s == 1 ? leastBackward(costs.stages[0]) : leastInput(costs.stages[s - 1]);
    tail[s] = hop(s - 1) + below + tail[s - 1];
  }
  PlanScore bound;
  const StageCosts& last = costs.stages[stages - 1];
  Nanoseconds wayBack = head[stages - 1] + last.forward +
                        (stages == 1 ? leastBackward(last) : leastInput(last)) + tail[stages - 1];
  for (const std::vector<int>& ofRank : shape.stagesByRank()) {
    if (ofRank.empty()) continue;
    Nanoseconds work = 0;
    Nanoseconds withoutWeights = 0;
    for (const int s : ofRank) {
      const StageCosts& stage = costs.stages[static_cast<std::size_t>(s)];
      work += (stage.forward + leastBackward(stage)) * shape.numMicroBatches;
      withoutWeights += (stage.forward + leastInput(stage)) * shape.numMicroBatches;
    }
    const auto first = static_cast<std::size_t>(ofRank.front());
    bound.length = std::max(bound.length, head[first] + work);
    wayBack = std::max(wayBack, head[first] + withoutWeights + tail[first]);
    bound.longestSpan = std::max(bound.longestSpan, work);
  }
  bound.length = std::max(bound.length, wayBack);
  // The way back ends on the rank that begins first.
  bound.longestSpan = std::max(bound.longestSpan, wayBack);
  return bound;
}

PlanScore improve(PlanModel& model, JobOrders& orders, const SearchBudget& budget) {
  // Tries plans near the best one first, then those farther away.
  const long long near = budget.jobs / 4;
  Search nearby(model, orders, {near, budget.lowerBound}, kLargestThreshold / 10);
  nearby.run();
  orders = nearby.takeBest();
  Search farther(model, orders, {budget.jobs - near, budget.lowerBound}, kLargestThreshold);
  const PlanScore score = farther.run();
  orders = farther.takeBest();
  return score;
}

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
