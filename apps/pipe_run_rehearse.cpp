#include "apps/pipe_run_rehearse.h"

#include <fmt/format.h>

#include <cstdio>
#include <fstream>
#include <iterator>

#include "analysis/measured_costs.h"
#include "analysis/run_summary.h"
#include "apps/plan_comparison.h"
#include "parser/load_timeline.h"
#include "runtime/launch_log_folder.h"
#include "runtime/rehearsal.h"
#include "schedule/build_schedule.h"
#include "schedule/check.h"
#include "schedule/schedule_reader.h"
#include "trace/decimal_time.h"
#include "trace/error.h"
#include "trace/output_file.h"

namespace pipetrace {
namespace {

Timeline loadRun(const std::vector<std::string>& inputs) {
  Diagnostics diagnostics;
  Timeline timeline = loadTimeline(inputs, {}, diagnostics);
  completeTimeline(timeline, diagnostics);
  for (const Diagnostic& diagnostic : diagnostics.list()) {
    if (diagnostic.severity == Severity::kNote) continue;
    std::fputs((toText(diagnostic) + "\n").c_str(), stderr);
  }
  return timeline;
}

void requireSame(const char* option, const std::optional<int>& given, int inFile,
                 const std::string& file) {
  if (given && *given != inFile) {
    throw Error(
        fmt::format("{} {} contradicts {}, which is a plan for {}", option, *given, file, inFile));
  }
}

Schedule fileSchedule(const RehearseOptions& options) {
  std::ifstream in(options.scheduleFile, std::ios::binary);
  if (!in) throw Error("cannot read the schedule " + options.scheduleFile);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  Schedule schedule = readSchedule(text, options.scheduleFile);
  requireSame("--ranks", options.ranks, schedule.numRanks(), options.scheduleFile);
  requireSame("--micro-batches", options.microBatches, schedule.numMicroBatches,
              options.scheduleFile);
  return schedule;
}

Schedule scheduleOf(const RehearseOptions& options) {
  Schedule schedule;
  if (!options.scheduleFile.empty()) {
    schedule = fileSchedule(options);
  } else if (options.schedule.empty()) {
    throw Error("no schedule to rehearse; give --schedule 1F1B or --schedule-file FILE.csv");
  } else if (!options.ranks || !options.microBatches) {
    throw Error("--schedule needs --ranks and --micro-batches");
  } else {
    schedule = buildSchedule(options.schedule, *options.ranks, *options.microBatches);
  }
  requireValid(schedule);
  return schedule;
}

Nanoseconds timeOf(const char* option, const std::string& text) {
  if (text.empty()) return 0;
  const std::optional<Nanoseconds> time = parseDecimalTime(text, kNsPerMs);
  if (time && *time >= 0) return *time;
  throw Error(
      fmt::format("{} {}: not a time in milliseconds; write it like 10 or 0.25", option, text));
}

Costs costsOf(const RehearseOptions& options, int numStages) {
  if (!options.costsFrom.empty()) {
    Costs costs = measuredCosts(loadRun(options.costsFrom));
    if (costs.stages.size() == static_cast<std::size_t>(numStages)) return costs;
    throw Error(fmt::format("{} is a run of {} stages, but the schedule has {}",
                            options.costsFrom.front(), costs.stages.size(), numStages));
  }
  if (options.forwardMs.empty() || options.backwardMs.empty()) {
    throw Error("how long do jobs take? Give --costs-from LOGS, or --forward-ms and --backward-ms");
  }
  Costs costs = Costs::equal(numStages, {.forward = timeOf("--forward-ms", options.forwardMs),
                                         .backward = timeOf("--backward-ms", options.backwardMs)});
  costs.transfer = timeOf("--transfer-ms", options.transferMs);
  costs.lr = timeOf("--lr-ms", options.lrMs);
  costs.optimizer = timeOf("--optimizer-ms", options.optimizerMs);
  return costs;
}

}  // namespace

int runRehearse(const RehearseOptions& options) {
  RehearsalOptions rehearsal{.schedule = scheduleOf(options),
                             .steps = options.steps,
                             .logDirectory = options.logDirectory};
  rehearsal.costs = costsOf(options, rehearsal.schedule.numStages);
  clearLogFolder(options.logDirectory);
  std::fputs(fmt::format("rehearsing {} on {} emulated devices: {} steps of {} micro-batches\n",
                         rehearsal.schedule.name, rehearsal.schedule.numRanks(), options.steps,
                         rehearsal.schedule.numMicroBatches)
                 .c_str(),
             stderr);
  rehearse(rehearsal);
  const PlanComparison comparison =
      compareWithPlan(loadRun({options.logDirectory}), rehearsal.schedule, rehearsal.costs);
  writeWholeFile("-", toText(comparison));
  return options.strict && !comparison.agrees() ? 1 : 0;
}

}  // namespace pipetrace
