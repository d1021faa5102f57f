#include "apps/pipe_trace/plan/source.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <string_view>

#include "schedule/with_recompute.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

// Far above any plan that is of use; its jobs take some GB.
constexpr std::int64_t kMostActions = 50'000'000;

void requireSchedule(const PlanOptions& options) {
  if (options.schedule.empty()) {
    std::string advice =
        "give --schedule NAME, --schedule-file FILE.csv, --costs-from RUN, --compare or --list";
    std::error_code error;
    if (std::filesystem::exists("plan", error)) {
      advice += "; to read the file or folder called plan, write ./plan";
    }
    throw Error("no schedule to plan; " + advice);
  }
  options.requireSize();
}

Plan built(const PlanOptions& options, const GivenCosts& costs, std::int64_t limit) {
  requireSchedule(options);
  const PlanSize size = options.size();
  const ScheduleInfo& info = scheduleInfo(options.schedule);
  const std::int64_t jobsOfAPass = info.isForwardOnly ? 1 : info.splitsBackward ? 3 : 2;
  const auto isPositive = [](std::int64_t time) { return time > 0; };
  const bool recomputes = std::any_of(costs.recompute.begin(), costs.recompute.end(), isPositive);
  const std::int64_t actions = (jobsOfAPass + (recomputes ? 1 : 0)) * size.ranks *
                               size.microBatches * std::max(1, size.chunks);
  if (actions * options.steps > kMostActions) {
    throw Error(
        fmt::format("{} ranks, {} micro-batches, {} chunks and {} steps make over {} "
                    "million jobs; take fewer",
                    size.ranks, size.microBatches, std::max(1, size.chunks), options.steps,
                    kMostActions / 1'000'000));
  }
  AutoInput input{.memoryLimit = limit};
  if (info.dependsOnCosts) {
    input.costs =
        withRecomputeInBackwards(completeCosts(costs, size.ranks * std::max(1, size.chunks)));
  }
  return options.build(input);
}

std::string chunksText(const ScheduleInfo& info) {
  if (info.leastChunks == info.mostChunks) return std::to_string(info.leastChunks);
  if (info.mostChunks == std::numeric_limits<int>::max()) {
    return fmt::format("{} or more, usually {}", info.leastChunks, info.usualChunks);
  }
  return fmt::format("{} to {}, usually {}", info.leastChunks, info.mostChunks, info.usualChunks);
}

}  // namespace

ReadablePlan planOf(const PlanOptions& options, const GivenCosts& costs, std::int64_t limit) {
  if (options.scheduleFile.empty()) return {built(options, costs, limit), {}};
  if (options.check) return readReadableFile(options.scheduleFile);
  return {readScheduleFile(options.scheduleFile), {}};
}

void requireChunksOfSchedule(const PlanOptions& options) {
  if (options.chunks && options.schedule.empty() && !options.compare) {
    throw Error("--chunks goes with --schedule or --compare");
  }
}

void takeFromRun(PlanOptions& options, const RunPlan& run) {
  if (!options.scheduleFile.empty()) return;
  const std::string& input = options.costs.measured.front();
  const bool takesSchedule = options.schedule.empty();
  if (takesSchedule) {
    const auto refuse = [&](const std::string& why) {
      throw Error(input + " does not say what to plan: " + why + "; give --schedule NAME");
    };
    if (!run.exists()) refuse(run.problem);
    if (run.schedule.names.empty()) refuse("its jobs are in the order of no schedule");
    if (!run.schedule.isExact) {
      refuse("the order of its jobs is only " + toText(run.schedule) +
             (run.problem.empty() ? "" : ", as " + run.problem));
    }
    options.schedule = run.schedule.names.front();
    if (!run.ranksOfStage.empty()) options.stageRanks = toText(run.ranksOfStage);
    if (run.schedule.depths) options.stageDepths = toText(*run.schedule.depths);
  }
  if (!run.exists()) return;
  if (options.stageRanks.empty() && !options.ranks) options.ranks = run.ranks;
  if (!options.microBatches) options.microBatches = run.microBatches;
  const bool hasChunks = options.stageRanks.empty() && options.stageDepths.empty() &&
                         run.ranksOfStage.empty() && run.stages % run.ranks == 0;
  const ScheduleInfo& info = scheduleInfo(options.schedule);
  const int chunks = run.stages / run.ranks;
  const bool canHave = chunks >= info.leastChunks && chunks <= info.mostChunks;
  if (hasChunks && !options.chunks && canHave) options.chunks = chunks;
}

std::string scheduleList() {
  std::string text;
  for (const ScheduleInfo& info : knownSchedules()) {
    text += fmt::format("{:<22} {}\n", info.name, info.summary);
    text += fmt::format("{:<22} chunks per rank: {}", "", chunksText(info));
    if (info.splitsBackward) text += "; splits the backward";
    if (info.isAsynchronous) text += "; asynchronous";
    if (info.isForwardOnly) text += "; forwards only";
    text += "\n";
    if (!info.aliases.empty()) text += fmt::format("{:<22} also called: {}\n", "", info.aliases);
  }
  return text;
}

}  // namespace pipetrace
