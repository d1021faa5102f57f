#include "schedule/search/local_search.h"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace pipetrace {
namespace {

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

}  // namespace

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

}  // namespace pipetrace
