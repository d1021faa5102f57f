#pragma once

#include "analysis/costs/given_costs.h"
#include "analysis/run/run_plan.h"
#include "apps/pipe_trace/plan/options.h"
#include "schedule/build_schedule.h"
#include "schedule/file/schedule_reader.h"

namespace pipetrace {

/// The plan that the options ask for, unchecked: built, or read from the schedule file. With
/// --check a file may have cells that cannot be read. The schedule `auto` keeps below `limit` bytes
/// (0: no limit). Throws Error for options that leave the plan open.
ReadablePlan planOf(const PlanOptions& options, const GivenCosts& costs, std::int64_t limit);

/// Throws Error for --chunks without a schedule to build.
void requireChunksOfSchedule(const PlanOptions& options);

/// Fills in what `run`, the run of --costs-from, says and the options leave open: ranks,
/// micro-batches, chunks, and where no schedule and no file is named the schedule. Throws Error
/// where the run follows no schedule.
void takeFromRun(PlanOptions& options, const RunPlan& run);

/// All schedules, for people: name, other names, number of chunks, description.
std::string scheduleList();

}  // namespace pipetrace
