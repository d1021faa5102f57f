#include "samples/sample_plan.h"

#include <fmt/format.h>

#include "schedule/build_schedule.h"
#include "schedule/file/schedule_reader.h"
#include "trace/error.h"

namespace pipetrace {

CheckedPlan samplePlan(const SampleOptions& options) {
  if (!options.scheduleFile.empty()) return readScheduleFile(options.scheduleFile);
  return buildSchedule(options.schedule,
                       PlanSize{options.stages, options.microBatches, options.chunks});
}

void requireWorldSize(const Plan& plan, int worldSize) {
  if (worldSize == plan.numRanks()) return;
  throw Error(
      fmt::format("WORLD_SIZE is {}, but the plan {} is for {} ranks; start {} "
                  "processes, or say --stages {}",
                  worldSize, plan.name, plan.numRanks(), plan.numRanks(), worldSize));
}

}  // namespace pipetrace
