#include "samples/sample_schedule.h"

#include <fmt/format.h>

#include "schedule/build_schedule.h"
#include "schedule/check/check.h"
#include "schedule/file/schedule_reader.h"
#include "trace/error.h"

namespace pipetrace {

Schedule sampleSchedule(const SampleOptions& options) {
  if (options.scheduleFile.empty()) {
    return buildSchedule(options.schedule,
                         PlanSize{options.stages, options.microBatches, options.chunks});
  }
  Schedule schedule = readScheduleFile(options.scheduleFile);
  requireValid(schedule);
  return schedule;
}

void requireWorldSize(const Schedule& schedule, int worldSize) {
  if (worldSize == schedule.numRanks()) return;
  throw Error(
      fmt::format("WORLD_SIZE is {}, but the schedule {} is for {} ranks; start {} "
                  "processes, or say --stages {}",
                  worldSize, schedule.name, schedule.numRanks(), schedule.numRanks(), worldSize));
}

}  // namespace pipetrace
