#include "schedule/compare/compare_plans.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "schedule/add_transfers.h"
#include "schedule/build_schedule.h"
#include "schedule/compare/split_costs.h"
#include "schedule/fingerprint.h"
#include "schedule/simulate/order_messages.h"
#include "schedule/simulate/simulate.h"
#include "schedule/with_recompute.h"
#include "schedule/with_reductions.h"
#include "trace/error.h"
#include "trace/step_windows.h"
#include "trace/text/number_text.h"
#include "trace/threads/in_parallel.h"

namespace pipetrace {
namespace {

constexpr std::int64_t kMostJobs = 2'000'000;
/// Torch's order will do if it takes at most that many times as long as the one in time.
constexpr double kAsShort = 1.005;
/// In a plan with a limit of activations a whole share's is as many units of memory.
constexpr std::int64_t kActivation = 1'000'000'000;
constexpr std::int64_t kMillionth = kActivation / 1'000'000;

/// A schedule with a number of chunks, and what came of it: a plan or a reason.
struct Try {
  const ScheduleInfo* schedule = nullptr;
  int chunks = 1;
  std::optional<ComparedPlan> plan;
  std::string reason;  // both as in LeftOutPlan
  std::string detail;
};

/// The share of the window of the step that is not work, as summarize() has it of a run.
double bubbleRatioOf(const Timeline& timeline) {
  Nanoseconds busy = 0;
  Nanoseconds whole = 0;
  for (const StepWindow& window : stepWindows(timeline)) {
    for (const Track& track : timeline.tracks) {
      bool computes = false;
      for (const Event& event : track.events) {
        if (!isCompute(event.kind)) continue;
        computes = true;
        const Nanoseconds begin = std::max(event.begin, window.begin);
        busy += std::max<Nanoseconds>(0, std::min(event.end, window.windowEnd) - begin);
      }
      if (computes) whole += window.window();
    }
  }
  return whole > 0 ? 1 - static_cast<double>(busy) / static_cast<double>(whole) : 0;
}

/// The length of a step with the messages of `ordered()` on lines; none: it does not run.
template <typename Ordered>
std::optional<Simulation> onLines(Ordered ordered, const Costs& costs, CommStreams lines) {
  try {
    return simulate(CheckedPlan(ordered()), costs, {.commStreams = lines});
  } catch (const Error&) {
    return std::nullopt;  // torch has no order for this plan, or its messages wait for each other
  }
}

/// The costs with which plans are made and checked.
Costs limitedShares(const CompareInput& input) {
  Costs shares = input.shares;
  if (input.activationLimit == 0) return shares;
  for (StageCosts& share : shares.stages) share.activation = kActivation;
  return shares;
}

class Trying {
 public:
  Trying(const CompareInput& input, const Costs& shares, Try& to)
      : input_(input),
        to_(to),
        limit_(input.activationLimit > 0 ? input.activationLimit * kMillionth : input.memoryLimit),
        costs_(splitOverChunks(shares, to.chunks, input.hasMemory || input.activationLimit > 0)) {}

  void run() {
    const std::int64_t jobs = 3LL * input_.ranks * to_.chunks * input_.microBatches;
    if (jobs > kMostJobs) {
      to_.reason = "over " + std::to_string(kMostJobs / 1'000'000) + " million jobs";
      return;
    }
    try {
      compare(CheckedPlan(built()));
    } catch (const Error& error) {
      to_.reason = "not to be planned";
      to_.detail = error.what();
    }
  }

 private:
  Plan built(int batches = 1) const {
    AutoInput input{.memoryLimit = limit_};
    if (to_.schedule->dependsOnCosts) input.costs = withRecomputeInBackwards(costs_);
    const PlanSize size{input_.ranks, batches * input_.microBatches, to_.chunks};
    return withCostedWork(buildSchedule(to_.schedule->name, size, input), costs_);
  }

  /// With the slow ranks, whatever stages the plan gives them.
  Costs costsOf(const Plan& plan) const {
    Costs costs = costs_;
    applyScales(input_.slowRanks, plan, costs);
    return costs;
  }

  void compare(const CheckedPlan& plan) {
    ComparedPlan found{.schedule = to_.schedule->name,
                       .chunks = to_.chunks,
                       .name = plan->name,
                       .fingerprint = fingerprint(*plan),
                       .messages = plan->hasMessages() ? messagesBetweenRanks(*plan) : 0,
                       .isAsynchronous = plan->isAsynchronous(),
                       .hasWeightsTwice = plan->isBidirectional()};
    const Costs costs = costsOf(*plan);
    std::optional<Simulation> shortest;
    if (input_.commStreams == CommStreams::kAsReached || found.messages == 0) {
      shortest = simulate(plan, costs);
    }
    if (found.messages > 0) addOrders(plan, costs, found, shortest);
    if (!shortest) {
      to_.reason = "messages in line wait for each other";
      return;
    }
    found.length = shortest->length;
    found.bubbleRatio = bubbleRatioOf(shortest->timeline);
    if (found.isAsynchronous && input_.commStreams == CommStreams::kAsReached) {
      const CheckedPlan twice(built(2));
      found.steadyStep = simulate(twice, costsOf(*twice)).length - found.length;
    }
    if (addHeld(*shortest, found)) to_.plan = std::move(found);
  }

  /// Also takes the shorter of the two for the plan's own step, where that is on lines.
  void addOrders(const CheckedPlan& plan, const Costs& costs, ComparedPlan& found,
                 std::optional<Simulation>& own) {
    const bool takes = !own;
    const CommStreams lines = takes ? input_.commStreams : CommStreams::kRank;
    const auto take = [&](std::optional<Simulation> simulation, std::optional<Nanoseconds>& to) {
      if (!simulation) return;
      to = simulation->length;
      const bool isShorter = !own || simulation->length < own->length;
      if (takes && isShorter) own = std::move(simulation);
    };
    take(onLines([&] { return withMessagesOfTorch(plan); }, costs, lines), found.inTorchOrder);
    take(onLines([&] { return withMessagesInTime(plan, costs); }, costs, lines), found.inTime);
  }

  /// Whether the plan keeps to the limit; else says by how much it does not.
  bool addHeld(const Simulation& simulation, ComparedPlan& found) {
    int live = 0;
    std::size_t fullest = 0;
    for (std::size_t r = 0; r < simulation.ranks.size(); ++r) {
      const Simulation::Rank& rank = simulation.ranks[r];
      live = std::max(live, rank.peakLive);
      found.weightVersions = std::max(found.weightVersions, rank.versions);
      if (rank.peakMemory > simulation.ranks[fullest].peakMemory) fullest = r;
    }
    found.peakActivations = static_cast<double>(live) / to_.chunks;
    const std::int64_t peak = simulation.ranks[fullest].peakMemory;
    if (input_.hasMemory) found.peakMemory = peak;
    if (limit_ == 0 || peak <= limit_) return true;
    to_.reason = "over the limit";
    to_.detail = input_.hasMemory ? fixedText(static_cast<double>(peak) / 1e9, 2) + " GB"
                                  : fixedText(found.peakActivations, 2) + " activations";
    to_.detail += " on rank " + std::to_string(fullest);
    return false;
  }

  const CompareInput& input_;
  Try& to_;
  std::int64_t limit_;
  Costs costs_;
};

void requireSize(const CompareInput& input) {
  const auto require = [](int number, const char* what) {
    if (number < 1) throw Error("cannot compare plans of " + std::to_string(number) + what);
  };
  require(input.ranks, " ranks");
  require(input.microBatches, " micro-batches");
  require(input.mostChunks, " chunks");
  const std::size_t shares = input.shares.stages.size();
  if (shares == static_cast<std::size_t>(input.ranks)) return;
  throw Error("costs of " + std::to_string(shares) + " ranks, but plans of " +
              std::to_string(input.ranks) + " are compared");
}

std::string chunksText(const ScheduleInfo& schedule) {
  return "only " + countText(schedule.leastChunks, "chunk") + " a rank";
}

void leaveOut(std::vector<LeftOutPlan>& to, const Try& left) {
  const auto alike = std::find_if(to.begin(), to.end(), [&](const LeftOutPlan& plan) {
    return plan.schedule == left.schedule->name && plan.reason == left.reason &&
           plan.detail == left.detail;
  });
  if (alike != to.end()) {
    alike->chunks.push_back(left.chunks);
  } else {
    to.push_back({left.schedule->name, {left.chunks}, left.reason, left.detail});
  }
}

/// Whether `a` is listed before `b`.
bool isBetter(const ComparedPlan& a, const ComparedPlan& b) {
  if (a.length != b.length) return a.length < b.length;
  if (a.peakMemory != b.peakMemory) return a.peakMemory < b.peakMemory;
  if (a.peakActivations != b.peakActivations) return a.peakActivations < b.peakActivations;
  return a.messages < b.messages;
}

}  // namespace

Plan withCostedWork(Plan plan, const Costs& costs, const char* agreement) {
  const bool hasOwnRecomputes = plan.hasRecomputes();
  const bool reduces = std::any_of(costs.stages.begin(), costs.stages.end(),
                                   [](const StageCosts& stage) { return stage.reduction > 0; });
  if (reduces) plan = withReductions(std::move(plan));
  if (costs.scalarAllReduce > 0) plan = withScalarAllReduce(std::move(plan), agreement);
  if (hasOwnRecomputes) return plan;
  std::vector<bool> stages;
  for (const StageCosts& stage : costs.stages) stages.push_back(stage.recompute > 0);
  const bool recomputes = std::find(stages.begin(), stages.end(), true) != stages.end();
  return recomputes ? withRecompute(plan, stages) : plan;
}

bool ComparedPlan::needsOrderInTime() const {
  if (!inTime) return false;
  return !inTorchOrder ||
         static_cast<double>(*inTorchOrder) > kAsShort * static_cast<double>(*inTime);
}

ComparedPlans comparePlans(const CompareInput& input) {
  requireSize(input);
  const Costs shares = limitedShares(input);
  std::vector<Try> tries;
  for (const ScheduleInfo& schedule : knownSchedules()) {
    for (int chunks = 1; chunks <= input.mostChunks; ++chunks) {
      Try& each = tries.emplace_back(Try{.schedule = &schedule, .chunks = chunks});
      if (schedule.isForwardOnly) {
        each.reason = "nothing is trained";
      } else if (chunks < schedule.leastChunks || chunks > schedule.mostChunks) {
        each.reason = chunksText(schedule);
      }
    }
  }
  // The last ones, of auto, take the longest.
  inParallel(input.threads, tries.size(), [&](std::size_t i) {
    Try& each = tries[tries.size() - 1 - i];
    if (each.reason.empty()) Trying(input, shares, each).run();
  });
  ComparedPlans result;
  for (Try& each : tries) {
    if (each.plan) {
      result.plans.push_back(std::move(*each.plan));
    } else {
      leaveOut(result.leftOut, each);
    }
  }
  std::stable_sort(result.plans.begin(), result.plans.end(), isBetter);
  return result;
}

}  // namespace pipetrace
