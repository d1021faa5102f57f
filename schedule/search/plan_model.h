#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "schedule/costs.h"
#include "schedule/plan.h"

namespace pipetrace {

/// A job as the search for plans moves it: forward, backward, backward_input or backward_weight.
struct PlanJob {
  JobKind kind = JobKind::kForward;
  int stage = 0;
  int slot = 0;  ///< stage * micro-batches + micro-batch
};

/// Each rank's jobs, in order.
using JobOrders = std::vector<std::vector<PlanJob>>;

/// How good a plan is: compared from the first member on.
struct PlanScore {
  Nanoseconds length = 0;       ///< the last end of any job
  Nanoseconds longestSpan = 0;  ///< of a rank, from its first begin to its last end
  Nanoseconds sumOfEnds = 0;    ///< of all ranks

  auto operator<=>(const PlanScore&) const = default;
};

/// When the jobs of a plan begin, by rank and position.
struct PlanTimes {
  std::vector<std::vector<Nanoseconds>> begin;
  std::vector<int> forwardPosition;   ///< by slot, on its rank
  std::vector<int> backwardPosition;  ///< by slot; of the whole pass or the input half
};

/// The sizes, placement and costs of a plan in flat arrays, to time many orders of its jobs in
/// little time. It runs the waits of the plan's network (PlanNetwork) without building one, which
/// would take several times as long as running it. Its times are those of dryRun(), less Costs::lr
/// and Costs::optimizer. It covers plans that have forwards, backwards and their halves alone, each
/// stage on one rank, without credits. For one thread.
class PlanModel {
 public:
  /// `shape` gives sizes and placement; `limits`, by rank, is the most that activations may take.
  PlanModel(const Plan& shape, const Costs& costs, std::vector<std::int64_t> limits);

  static bool covers(const Plan& plan);
  JobOrders ordersOf(const Plan& plan) const;
  /// With the name and placement of `shape`.
  Plan planOf(const JobOrders& orders) const;

  /// Returns false, and leaves `score` alone, when the orders deadlock or put work before its
  /// input.
  bool evaluate(const JobOrders& orders, PlanTimes& times, PlanScore& score);
  bool keepsLimit(std::size_t rank, const std::vector<PlanJob>& jobs) const;
  bool keepsLimits(const JobOrders& orders) const;

  Nanoseconds lengthOf(const PlanJob& job) const {
    return lengths_[static_cast<std::size_t>(job.stage)][indexOf(job.kind)];
  }
  std::size_t rankOf(int stage) const {
    return static_cast<std::size_t>(shape_.placement.firstRankOf(stage));
  }
  std::size_t numRanks() const { return shape_.ranks.size(); }
  int numStages() const { return shape_.numStages; }
  int numMicroBatches() const { return shape_.numMicroBatches; }
  /// When the input of a forward or backward pass arrives, in the plan evaluated last.
  Nanoseconds arrivalOf(const PlanJob& job) const;

 private:
  struct RankState {
    std::size_t next = 0;
    Nanoseconds free = 0;
  };
  /// From a stage to the next or to the one before it.
  struct Link {
    Nanoseconds transfer = 0;
    Nanoseconds wire = 0;
    std::size_t index = 0;  // of linkFree_
    bool leavesRank = false;
  };

  static std::size_t indexOf(JobKind kind) {
    return kind == JobKind::kForward         ? 0
           : kind == JobKind::kBackward      ? 1
           : kind == JobKind::kBackwardInput ? 2
                                             : 3;
  }
  Link linkBetween(int from, int to, const Costs& costs) const;
  bool advance(const JobOrders& orders, std::size_t rank, PlanTimes& times);
  void hand(const Link& link, Nanoseconds end, std::vector<Nanoseconds>& arrivals, std::size_t slot,
            JobKind kind, const JobOrders& orders, int toStage);

  Plan shape_;  // without actions
  std::vector<std::int64_t> limits_;
  std::vector<std::array<Nanoseconds, 4>> lengths_;       // by stage and indexOf()
  std::vector<std::array<std::int64_t, 4>> memoryBegin_;  // what a job takes and gives back
  std::vector<std::array<std::int64_t, 4>> memoryEnd_;
  std::vector<Link> down_;  // by stage, to the next
  std::vector<Link> up_;    // by stage, to the one before

  // Scratch data of the plan at hand; members, so that their memory is used again.
  std::vector<Nanoseconds> forwardArrival_;  // by slot of the receiving job; kNotYet
  std::vector<Nanoseconds> backwardArrival_;
  std::vector<char> forwardDone_;  // by slot
  std::vector<char> backwardDone_;
  std::vector<Nanoseconds> linkFree_;
  std::vector<RankState> ranks_;
  std::vector<std::size_t> runnable_;
};

}  // namespace pipetrace
