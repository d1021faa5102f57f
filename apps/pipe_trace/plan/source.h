#pragma once

#include "analysis/costs/given_costs.h"
#include "apps/pipe_trace/plan/options.h"
#include "schedule/build_schedule.h"
#include "schedule/file/schedule_reader.h"

namespace pipetrace {

/// The plan that the options ask for, unchecked: built, or read from the schedule file, of which
/// --check takes what can be read. `limit` is what `auto` keeps to (0: no limit). Throws Error for
/// options that leave it open.
ReadablePlan planOf(const PlanOptions& options, const GivenCosts& costs, std::int64_t limit);

/// Of a plan that is built.
PlanSize sizeOf(const PlanOptions& options);

/// All schedules, for people: name, other names, chunks, what it is.
std::string scheduleList();

}  // namespace pipetrace
