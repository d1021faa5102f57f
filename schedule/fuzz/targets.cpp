#include "schedule/fuzz/targets.h"

#include <cstdio>
#include <cstdlib>

#include "schedule/add_transfers.h"
#include "schedule/check/check.h"
#include "schedule/file/schedule_reader.h"
#include "schedule/file/schedule_writer.h"
#include "schedule/simulate/dry_run.h"
#include "schedule/simulate/simulate.h"
#include "trace/error.h"

namespace pipetrace::fuzz {
namespace {

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", what);
  std::abort();
}

bool hasTransfers(const Schedule& schedule) {
  for (const auto& actions : schedule.ranks) {
    for (const Action& action : actions) {
      if (isTransfer(action.kind)) return true;
    }
  }
  return false;
}

void writeAndReadAgain(const Schedule& schedule) {
  const std::string text = toCsv(schedule);
  const Schedule again = readSchedule(text, schedule.name);
  require(again.ranks == schedule.ranks, "a written plan has the same actions");
  require(again.rankOfStage == schedule.rankOfStage, "a written plan has the same places");
  require(again.rankOfStageReversed == schedule.rankOfStageReversed,
          "a written plan has the same directions");
  require(again.updates == schedule.updates, "a written plan has the same updates");
  require(toCsv(again) == text, "a plan is written as it was");
}

void run(const Schedule& schedule, const Costs& costs) {
  const DryRun dry = dryRun(schedule, costs);
  const Simulation simulation = simulate(schedule, costs, {.steps = 1, .counters = true});
  require(dry.length == simulation.length, "a dry run is as long as the simulation");
  require(simulation.criticalPath.length() == simulation.length,
          "the critical path is as long as the step");
}

}  // namespace

void readAsScheduleFile(const std::string& bytes) {
  Schedule schedule;
  try {
    schedule = readSchedule(bytes, "fuzz");
  } catch (const Error&) {
    return;
  }
  writeAndReadAgain(schedule);
  const bool isValid = check(schedule).empty();
  for (const int buffers : {kBlocking, 1, 2}) {
    const bool runs = check(schedule, {.buffers = buffers}).empty();
    require(isValid || !runs, "what cannot run cannot run with fewer buffers");
  }
  check(schedule, {.mostLive = 1, .mostVersions = 1, .mostDistance = 0});
  if (!isValid) return;
  Costs costs = Costs::equal(schedule.numStages, {3, 7, 4, 3});
  costs.stages.front().message = 5;
  costs.transfer = 2;
  costs.optimizer = 1;
  run(schedule, costs);
  costs.bandwidth = 1e9;
  run(schedule, costs);
  if (hasTransfers(schedule)) return;
  const Schedule full = addTransfers(schedule, {.credits = 1});
  require(check(full).empty(), "a plan stays valid when its transfers are added");
  run(full, costs);
  writeAndReadAgain(full);
}

}  // namespace pipetrace::fuzz
