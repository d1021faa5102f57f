#include "schedule/search/auto_schedule.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "schedule/builders/placements.h"
#include "schedule/builders/schedules.h"
#include "schedule/search/placement_search.h"
#include "schedule/search/plan_candidates.h"
#include "schedule/simulate/dry_run.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

// The cost of one call, in jobs that are placed or timed. It takes a few milliseconds, and never a
// second. A large plan gets more, where this would not be enough for a fair number of tries.
constexpr long long kSqueezedJobs = 30'000;
constexpr long long kSqueezes = 60;
constexpr long long kMostSqueezedJobs = 600'000;
constexpr long long kTimedJobs = 400'000;
constexpr long long kTimedPlans = 500;
constexpr long long kMostTimedJobs = 4'000'000;

// Timing all builders' plans once more must stay a matter of milliseconds.
constexpr long long kMostComparedJobs = 20'000;

constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max() / 4;

struct Memory {
  std::vector<std::int64_t> weights;  // by rank
  std::int64_t least = 0;             // that one micro-batch after the other takes
};

Memory memoryOf(const Plan& shape, const Costs& costs) {
  Memory memory;
  for (const std::vector<int>& stages : shape.stagesByRank()) {
    std::int64_t weights = 0;
    std::int64_t activations = 0;
    std::int64_t working = 0;
    for (const int s : stages) {
      weights += costs.stages[static_cast<std::size_t>(s)].weights;
      activations += costs.stages[static_cast<std::size_t>(s)].activation;
      working = std::max(working, costs.stages[static_cast<std::size_t>(s)].working);
    }
    memory.weights.push_back(weights);
    memory.least = std::max(memory.least, weights + activations + working);
  }
  return memory;
}

std::vector<std::int64_t> limitsOf(const Memory& memory, std::int64_t limit) {
  std::vector<std::int64_t> limits;
  for (const std::int64_t weights : memory.weights) {
    limits.push_back(limit == 0 ? kNoLimit : limit - weights);
  }
  return limits;
}

/// The best of the plans that a search cannot improve.
struct BestFixed {
  std::optional<Plan> plan;
  PlanScore score;

  void offer(const Plan& candidate, const Costs& costs, std::int64_t limit) {
    const DryRun run = dryRunOfCandidate(candidate, costs);
    PlanScore found;
    found.length = run.length - costs.lr - costs.optimizer;
    for (const DryRun::Rank& rank : run.ranks) {
      if (limit != 0 && rank.peakMemory > limit) return;
      found.longestSpan = std::max(found.longestSpan, rank.last - rank.first);
      found.sumOfEnds += rank.last - costs.lr;
    }
    if (plan && !(found < score)) return;
    plan = candidate;
    score = found;
  }
};

struct Footprint {
  Nanoseconds length = 0;
  Nanoseconds longestSpan = 0;
  std::int64_t peakMemory = 0;  // of the rank that holds most
};

Footprint footprintOf(const Plan& plan, const Costs& costs) {
  const DryRun run = dryRunOfCandidate(plan, costs);
  Footprint found{.length = run.length};
  for (const DryRun::Rank& rank : run.ranks) {
    found.longestSpan = std::max(found.longestSpan, rank.last - rank.first);
    found.peakMemory = std::max(found.peakMemory, rank.peakMemory);
  }
  return found;
}

/// `plan`, or a builder's plan that is as short and holds less. A search for time alone ends at any
/// of the plans that share the length.
Plan leanestAsShort(Plan plan, const std::vector<Plan>& built, const Costs& costs) {
  Footprint least = footprintOf(plan, costs);
  for (const Plan& candidate : built) {
    const Footprint found = footprintOf(candidate, costs);
    if (found.length > least.length || found.longestSpan > least.longestSpan) continue;
    if (found.peakMemory >= least.peakMemory) continue;
    least = found;
    plan = candidate;
  }
  return plan;
}

Plan searched(const PlanSize& size, const AutoInput& input) {
  Costs costs = input.costs;
  if (costs.stages.empty()) {
    constexpr StageCosts kEqualHalves{
        .forward = 1, .backward = 2, .backwardInput = 1, .backwardWeight = 1};
    costs.stages.assign(
        static_cast<std::size_t>(size.ranks) * static_cast<std::size_t>(size.chunks), kEqualHalves);
  }
  return autoSchedule(size.ranks, size.microBatches, size.chunks, costs,
                      {.memoryLimit = input.memoryLimit});
}

}  // namespace

const ScheduleInfo schedules::kAuto = complete({
    .name = "auto",
    .aliases = "automatic",
    .summary = "the shortest plan that a search finds for given times and a memory limit",
    .mostChunks = ScheduleInfo::kAnyNumber,
    .splitsBackward = true,
    .dependsOnCosts = true,
    .search = searched,
});

Plan autoSchedule(int ranks, int microBatches, int chunks, const Costs& costs,
                  const AutoOptions& options) {
  const PlanSize size{ranks, microBatches, chunks};
  std::vector<Plan> shapes = {emptyPlan(schedules::kAuto, size)};
  if (chunks == 2) {
    ScheduleInfo vShaped = schedules::kAuto;
    vShaped.places = StagePlaces::kVShaped;
    shapes.push_back(emptyPlan(vShaped, size));
  }
  if (costs.stages.size() < static_cast<std::size_t>(shapes[0].numStages)) {
    throw Error("cannot plan auto: the costs have " + std::to_string(costs.stages.size()) +
                " stages, the plan " + std::to_string(shapes[0].numStages) +
                "; give costs for each virtual stage");
  }
  std::vector<PlacementSearch> searches;
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (const Plan& shape : shapes) {
    const Memory memory = memoryOf(shape, costs);
    least = std::min(least, memory.least);
    if (options.memoryLimit != 0 && memory.least > options.memoryLimit) continue;
    searches.emplace_back(shape, costs, limitsOf(memory, options.memoryLimit));
  }
  if (searches.empty()) {
    throw Error("cannot plan auto within a memory of " + std::to_string(options.memoryLimit) +
                ": one micro-batch after the other takes " + std::to_string(least) +
                " on one rank");
  }
  BestFixed fixed;
  const std::vector<Plan> built = builtPlans(size);
  for (const Plan& plan : built) {
    if (!PlanModel::covers(plan)) fixed.offer(plan, costs, options.memoryLimit);
    for (PlacementSearch& search : searches) search.offer(plan);
  }
  const long long jobs = 3LL * shapes[0].numStages * microBatches;
  for (PlacementSearch& search : searches) {
    search.squeezeOrders(std::clamp(kSqueezes * jobs, kSqueezedJobs, kMostSqueezedJobs));
  }
  for (PlacementSearch& search : searches) {
    search.improveBest(std::clamp(kTimedPlans * jobs, kTimedJobs, kMostTimedJobs));
  }
  PlacementSearch* best = &searches.front();
  for (PlacementSearch& search : searches) {
    if (*search.score() < *best->score()) best = &search;
  }
  Plan plan = fixed.plan && fixed.score < *best->score() ? *fixed.plan : best->best();
  if (jobs <= kMostComparedJobs) plan = leanestAsShort(std::move(plan), built, costs);
  plan.name = std::string(schedules::kAuto.name) + " (" + plan.name + ")";
  return plan;
}

}  // namespace pipetrace
