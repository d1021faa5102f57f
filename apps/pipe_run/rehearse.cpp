#include "apps/pipe_run/rehearse.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>

#include "analysis/costs/measured_costs.h"
#include "apps/pipe_run/plan_comparison.h"
#include "ingest/load_run.h"
#include "parser/find_logs.h"
#include "runtime/launch/launch_log_folder.h"
#include "runtime/launch/rank_process.h"
#include "runtime/launch/stop_signal.h"
#include "runtime/rehearse/rehearsal.h"
#include "schedule/build_schedule.h"
#include "schedule/file/schedule_reader.h"
#include "trace/error.h"
#include "trace/files/output_file.h"
#include "trace/text/decimal_time.h"

namespace pipetrace {
namespace {

// A step whose length is further off the plan than this share of it did not show the plan.
constexpr double kKeptUp = 0.01;

/// loadRun(); what is wrong in the logs goes to standard error.
Timeline loadLogs(const std::vector<std::string>& inputs) {
  Diagnostics diagnostics;
  Timeline timeline = loadRun({.inputs = inputs}, diagnostics);
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

CheckedPlan filePlan(const RehearseOptions& options) {
  Plan plan = readScheduleFile(options.scheduleFile);
  requireSame("--ranks", options.ranks, plan.numRanks(), options.scheduleFile);
  requireSame("--micro-batches", options.microBatches, plan.numMicroBatches, options.scheduleFile);
  return plan;
}

CheckedPlan planOf(const RehearseOptions& options) {
  if (!options.scheduleFile.empty()) return filePlan(options);
  if (options.schedule.empty()) {
    throw Error("no schedule to rehearse; give --schedule 1F1B or --schedule-file FILE.csv");
  }
  if (!options.ranks || !options.microBatches) {
    throw Error("--schedule needs --ranks and --micro-batches");
  }
  return buildSchedule(options.schedule,
                       PlanSize{*options.ranks, *options.microBatches, options.chunks});
}

Nanoseconds timeOf(const char* option, const std::string& text) {
  if (text.empty()) return 0;
  const std::optional<Nanoseconds> time = parseDecimalTime(text, kNsPerMs);
  if (time && *time >= 0) return *time;
  throw Error(
      fmt::format("{} {}: not a time in milliseconds; write it like 10 or 0.25", option, text));
}

std::filesystem::path canonicalFolder(const std::filesystem::path& folder) {
  const auto path = std::filesystem::weakly_canonical(std::filesystem::absolute(folder));
  return path.has_filename() ? path : path.parent_path();  // "logs/" is "logs"
}

/// The folders that hold what `input` names: of a run's folder those with its logs, which may be
/// one folder per machine.
std::vector<std::filesystem::path> foldersOf(const std::string& input) {
  if (!std::filesystem::is_directory(input)) return {canonicalFolder(input).parent_path()};
  std::vector<std::filesystem::path> folders = {canonicalFolder(input)};
  Diagnostics told;  // again when they are read
  for (const FoundLog& log : findLogs(input, told)) {
    folders.push_back(canonicalFolder(log.path).parent_path());
  }
  return folders;
}

/// The old logs in the log folder are removed: they must not be those that are measured.
void requireElsewhere(const RehearseOptions& options) {
  const std::filesystem::path logs = canonicalFolder(options.logDirectory);
  for (const std::string& input : options.costsFrom) {
    const std::vector<std::filesystem::path> folders = foldersOf(input);
    if (std::find(folders.begin(), folders.end(), logs) == folders.end()) continue;
    throw Error(
        fmt::format("--log-dir {} holds what --costs-from {} reads, and would be cleared; "
                    "choose another folder for the new logs",
                    options.logDirectory, input));
  }
}

Costs costsOf(const RehearseOptions& options, int numStages) {
  if (!options.costsFrom.empty()) {
    Costs costs = measuredCosts(loadLogs(options.costsFrom));
    requireElsewhere(options);
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

void say(const std::string& line) { std::fputs((line + "\n").c_str(), stderr); }

/// "1 step", "2 steps".
std::string counted(int number, const char* what, const char* plural = "s") {
  return fmt::format("{} {}{}", number, what, number == 1 ? "" : plural);
}

/// The signal that ended it, 0 for none.
int rehearseUntilStopped(RehearsalOptions& rehearsal) {
  StopSignal stop;
  rehearsal.stop = &stop;
  try {
    rehearse(rehearsal);
  } catch (const Error&) {
    if (stop.received() == 0) throw;
  }
  rehearsal.stop = nullptr;
  return stop.received();
}

/// Prints the comparison; the exit code.
int report(const PlanComparison& comparison, bool strict) {
  writeWholeFile("-", toText(comparison));
  if (std::abs(comparison.stepDeviation()) > kKeptUp) {
    say("pipe-run: this machine cannot keep up; take fewer ranks or longer jobs");
  }
  const std::vector<std::string> findings = comparison.findings();
  if (!strict || findings.empty()) return 0;
  for (const std::string& finding : findings) say("pipe-run: --strict: " + finding);
  return 1;
}

}  // namespace

int runRehearse(const RehearseOptions& options) {
  RehearsalOptions rehearsal{
      .plan = planOf(options), .steps = options.steps, .logDirectory = options.logDirectory};
  rehearsal.costs = costsOf(options, rehearsal.plan->numStages);
  requireRehearsable(rehearsal);
  clearLogFolder(options.logDirectory);
  const CheckedPlan& plan = rehearsal.plan;
  say(fmt::format("rehearsing {} on {}: {} of {}", plan->name,
                  counted(plan->numRanks(), "emulated device"), counted(options.steps, "step"),
                  counted(plan->numMicroBatches, "micro-batch", "es")));
  if (const int signal = rehearseUntilStopped(rehearsal)) {
    say("pipe-run: stopped by " + signalText(signal));
    return 128 + signal;
  }
  return report(compareWithPlan(loadLogs({options.logDirectory}), plan, rehearsal.costs),
                options.strict);
}

}  // namespace pipetrace
