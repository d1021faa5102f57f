#include "viewer/start/sample_run.h"

#include "schedule/build_schedule.h"
#include "schedule/builders/schedules.h"
#include "schedule/simulate/simulate.h"
#include "trace/log/write_job_logs.h"

namespace pipetrace {
namespace {

constexpr int kRanks = 4;
constexpr int kMicroBatches = 8;
constexpr int kSteps = 6;
constexpr Nanoseconds kBegin = 1'000'000;

}  // namespace

Timeline sampleRun() {
  Costs costs = Costs::equal(kRanks, {.forward = 10 * kNsPerMs, .backward = 20 * kNsPerMs});
  costs.transfer = 500'000;
  costs.lr = 100'000;
  costs.optimizer = 4 * kNsPerMs;
  StageCosts& slow = costs.stages[2];
  slow.forward = slow.forward * 13 / 10;
  slow.backward = slow.backward * 13 / 10;
  costs.faults.links.push_back({.rank = 1, .peer = 2, .transfer = 3 * kNsPerMs});
  costs.faults.jobs.push_back({.action = {.kind = JobKind::kForward, .stage = 1, .microBatch = 5},
                               .step = 3,
                               .late = 40 * kNsPerMs});
  const CheckedPlan plan(buildSchedule(schedules::kDefault, kRanks, kMicroBatches));
  return simulate(plan, costs, {.steps = kSteps, .begin = kBegin}).timeline;
}

void writeSampleLogs(const std::string& folder) { writeJobLogs(sampleRun(), folder); }

}  // namespace pipetrace
