#include "apps/cli/schedule_options.h"

#include <fmt/format.h>

#include "apps/cli/checks.h"
#include "apps/cli/command_app.h"
#include "apps/cli/shared_options.h"
#include "schedule/backward_parts.h"
#include "schedule/forward_part.h"
#include "schedule/with_reductions.h"
#include "schedule/with_replicas.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

constexpr int kMostMicroBatches = 1'000'000;
constexpr int kMostChunks = 1024;
constexpr int kMostReplicas = 1024;
constexpr int kMostBuckets = 1024;
constexpr int kMostParts = 1024;

}  // namespace

namespace {

int countOf(const std::vector<std::vector<int>>& ranksOfStage) {
  std::size_t count = 0;
  for (const std::vector<int>& ofStage : ranksOfStage) count += ofStage.size();
  return static_cast<int>(count);
}

}  // namespace

PlanSize ScheduleOptions::size() const {
  const int count = stageRanks.empty() ? ranks.value_or(0) : countOf(stageRanksOption(stageRanks));
  return {count, microBatches.value_or(0), chunks.value_or(0)};
}

Plan ScheduleOptions::build(const AutoInput& input) const {
  if (stageRanks.empty() && stageDepths.empty()) return buildSchedule(schedule, size(), input);
  const StageMap map = stageMapOptions(stageRanks, stageDepths, ranks.value_or(0));
  return buildOnStageRanks(schedule, map.ranks, microBatches.value_or(0), map.depths);
}

void ScheduleOptions::requireSize() const {
  scheduleInfo(schedule);  // an unknown name is reported before a missing size
  if ((ranks || !stageRanks.empty()) && microBatches) return;
  if (!stageRanks.empty()) {
    throw Error(fmt::format("--schedule {} needs --micro-batches M", schedule));
  }
  throw Error(fmt::format("--schedule {} needs --ranks P and --micro-batches M; {} missing",
                          schedule,
                          ranks          ? "--micro-batches is"
                          : microBatches ? "--ranks is"
                                         : "both are"));
}

void ScheduleOptions::change(Plan& plan) const {
  if (forwardOnly) plan = forwardPart(plan);
  if (credits) plan.credits = *credits;
  if (replicas) plan = withReplicas(std::move(plan), *replicas);
  if (lastBackwardParts) plan = withLastBackwardParts(std::move(plan), *lastBackwardParts);
  if (buckets) plan = withReductions(std::move(plan), *buckets);
}

ScheduleFlags addScheduleOptions(CommandApp& app, ScheduleOptions& to, int mostRanks,
                                 const char* group) {
  ScheduleFlags flags;
  flags.file = addShared(app, shared::kScheduleFile, to.scheduleFile)->check(notEmpty());
  flags.schedule = addShared(app, shared::kSchedule, to.schedule, "; see pipe-trace plan --list")
                       ->check(notEmpty())
                       ->excludes(flags.file);
  CLI::Option* const ranks = addShared(app, shared::kRankCount, to.ranks)->check(upTo(mostRanks));
  CLI::Option* const microBatches =
      addShared(app, shared::kMicroBatches, to.microBatches)->check(upTo(kMostMicroBatches));
  CLI::Option* const chunks = addShared(app, shared::kChunks, to.chunks)
                                  ->check(upTo(kMostChunks))
                                  ->excludes(flags.file)
                                  ->needs(flags.schedule);
  flags.chunks = chunks;
  CLI::Option* const stageRanks = addShared(app, shared::kStageRanks, to.stageRanks)
                                      ->check(notEmpty())
                                      ->excludes(flags.file)
                                      ->excludes(ranks)
                                      ->excludes(chunks)
                                      ->needs(flags.schedule);
  CLI::Option* const stageDepths = addShared(app, shared::kStageDepths, to.stageDepths)
                                       ->check(notEmpty())
                                       ->excludes(flags.file)
                                       ->excludes(chunks)
                                       ->needs(flags.schedule);
  for (CLI::Option* const each :
       {flags.file, flags.schedule, ranks, stageRanks, stageDepths, microBatches, chunks}) {
    each->group(group);
  }
  app.adviseOn([](const std::string& argument) {
    const bool isMeant = !argument.starts_with('-') && isSchedule(argument);
    return isMeant ? "--schedule " + argument : std::string();
  });
  return flags;
}

void addPlanChanges(CommandApp& app, ScheduleOptions& to, const char* group) {
  addShared(app, shared::kForwardOnly, to.forwardOnly)->group(group);
  addShared(app, shared::kCredits, to.credits)->check(range(0, kMostMicroBatches))->group(group);
  addShared(app, shared::kReplicas, to.replicas)->check(upTo(kMostReplicas))->group(group);
  addShared(app, shared::kBuckets, to.buckets)->check(upTo(kMostBuckets))->group(group);
  addShared(app, shared::kLastBackwardParts, to.lastBackwardParts)
      ->check(upTo(kMostParts))
      ->group(group);
}

}  // namespace pipetrace
