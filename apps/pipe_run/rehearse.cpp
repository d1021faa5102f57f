#include "apps/pipe_run/rehearse.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "analysis/present/plan_report.h"
#include "analysis/run/costs/given_costs.h"
#include "apps/cli/checks.h"
#include "apps/cli/command_app.h"
#include "apps/cli/cost_options.h"
#include "apps/cli/costs.h"
#include "apps/cli/fault_options.h"
#include "apps/cli/message_options.h"
#include "apps/cli/print.h"
#include "apps/cli/schedule_options.h"
#include "apps/cli/shared_options.h"
#include "apps/pipe_run/plan_comparison.h"
#include "ingest/load_run.h"
#include "parser/find_logs.h"
#include "parser/reader_registry.h"
#include "runtime/rehearse/rehearsal.h"
#include "runtime/starting_ranks/child_process.h"
#include "runtime/starting_ranks/launch_log_folder.h"
#include "runtime/starting_ranks/stop_signal.h"
#include "schedule/build_schedule.h"
#include "schedule/file/schedule_file.h"
#include "schedule/with_recompute.h"
#include "schedule/with_reductions.h"
#include "trace/error.h"
#include "trace/files/output_file.h"
#include "trace/text/number_text.h"

namespace pipetrace {
namespace {

/// The options of `pipe-run rehearse`.
struct RehearseOptions : ScheduleOptions {
  int steps = 5;
  MessageOptions messages;
  CostOptions costs;
  FaultOptions faults;
  std::string logDirectory;
  double stepTimeout = 0;  ///< seconds; 0: no limit
  bool strict = false;
};

constexpr int kMostRehearsedRanks = 1024;

void addRehearseOptions(CommandApp& app, RehearseOptions& options) {
  app.description(
      "Runs a schedule on emulated devices: jobs take their time by waiting, so that a few cores\n"
      "show what many devices would do. Prints the length of a step beside the planned one.");
  app.describeEnd(
      {{"0", "done"},
       {"1", "done, with --strict and off the plan"},
       {"2", "could not"},
       {"124", "a rank stalled"},
       {"128 + n", "stopped by signal n"}},
      {"pipe-run rehearse --schedule 1F1B --ranks 4 --micro-batches 8 --forward-ms 10 \\\n"
       "      --backward-ms 20 --log-dir rehearsal",
       "pipe-run rehearse --schedule 1F1B --ranks 4 --micro-batches 8 --costs-from logs \\\n"
       "      --log-dir rehearsal"});
  addScheduleOptions(app, options, kMostRehearsedRanks, "Schedule");
  addMessageOptions(app, options.messages, "Schedule");
  addPlanTimeOptions(app, options.costs);
  addFaultOptions(app, options.faults);
  constexpr const char* kGroup = "Run";
  addShared(app, shared::kStepCount, options.steps, " (default: 5)")
      ->check(range(1, 1'000'000))
      ->group(kGroup);
  app.add_option("--log-dir", options.logDirectory,
                 "Where the job logs go; workerlog.<rank> of earlier runs there are removed")
      ->type_name("DIR")
      ->check(notEmpty("the folder's name is empty"))
      ->required()
      ->group(kGroup);
  app.add_option(
         "--step-timeout", options.stepTimeout,
         "End the rehearsal when a rank has ended no action for so long (default: 0, never)")
      ->type_name("SECONDS")
      ->check(range(0.0, 1e9))
      ->group(kGroup);
  app.add_flag("--strict", options.strict,
               "Exit with 1 if the length of a step is off the plan by over 1 %, the bubble ratio "
               "by over 0.01, or a rank ran out of order")
      ->group(kGroup);
}

/// Reads the logs of the rehearsal. Warnings go to standard error.
Run loadLogs(const std::string& folder) {
  Diagnostics diagnostics;
  Run run = loadRun({.inputs = {folder}}, makeTraceReaders(), diagnostics);
  printDiagnostics(diagnostics, Severity::kWarning);
  return run;
}

void requireSame(const char* option, const std::optional<int>& given, int inFile,
                 const std::string& file) {
  if (given && *given != inFile) {
    throw Error(
        fmt::format("{} {} contradicts {}, which is a plan for {}", option, *given, file, inFile));
  }
}

Plan filePlan(const RehearseOptions& options) {
  Plan plan = readScheduleFile(options.scheduleFile);
  requireSame("--ranks", options.ranks, plan.ranksOfReplica(), options.scheduleFile);
  requireSame("--micro-batches", options.microBatches, plan.microBatchesOfReplica(),
              options.scheduleFile);
  return plan;
}

bool dependsOnCosts(const RehearseOptions& options) {
  return options.scheduleFile.empty() && !options.schedule.empty() &&
         scheduleInfo(options.schedule).dependsOnCosts;
}

Plan planFrom(const RehearseOptions& options, const GivenCosts& given) {
  if (!options.scheduleFile.empty()) return filePlan(options);
  if (options.schedule.empty()) {
    throw Error("no schedule to rehearse; give --schedule 1F1B or --schedule-file FILE.csv");
  }
  options.requireSize();
  AutoInput input;
  if (dependsOnCosts(options)) {
    const PlanSize size = settledSize(options.schedule, options.size());
    input.costs = withRecomputeInBackwards(completeCosts(given, size.ranks * size.chunks));
  }
  return options.build(input);
}

CheckedPlan planOf(const RehearseOptions& options, const GivenCosts& given) {
  Plan plan = planFrom(options, given);
  options.change(plan);
  options.cutGradients(plan);
  return CheckedPlan(std::move(plan));
}

std::filesystem::path canonicalFolder(const std::filesystem::path& folder) {
  const auto path = std::filesystem::weakly_canonical(std::filesystem::absolute(folder));
  return path.has_filename() ? path : path.parent_path();  // "logs/" is "logs"
}

/// The folders that hold the files of `input`. The logs in a folder may be in folders of their own,
/// one per machine.
std::vector<std::filesystem::path> foldersOf(const std::string& input) {
  if (!std::filesystem::is_directory(input)) return {canonicalFolder(input).parent_path()};
  std::vector<std::filesystem::path> folders = {canonicalFolder(input)};
  Diagnostics unused;  // reading the logs reports the same
  for (const FoundLog& log : findLogs(input, unused)) {
    folders.push_back(canonicalFolder(log.path).parent_path());
  }
  return folders;
}

/// Throws Error when the log folder, whose old logs will be removed, holds the measured run.
void requireElsewhere(const RehearseOptions& options) {
  const std::filesystem::path logs = canonicalFolder(options.logDirectory);
  for (const std::string& input : options.costs.measured) {
    const std::vector<std::filesystem::path> folders = foldersOf(input);
    if (std::find(folders.begin(), folders.end(), logs) == folders.end()) continue;
    throw Error(
        fmt::format("--log-dir {} holds what --costs-from {} reads, and would be cleared; "
                    "choose another folder for the new logs",
                    options.logDirectory, input));
  }
}

GivenCosts costsGiven(const RehearseOptions& options) {
  const CostOptions& costs = options.costs;
  const bool hasHalves = !costs.backwardInputMs.empty() && !costs.backwardWeightMs.empty();
  const bool isForwardOnly = options.forwardOnly || (isSchedule(options.schedule) &&
                                                     scheduleInfo(options.schedule).isForwardOnly);
  const bool hasTimes =
      !costs.forwardMs.empty() && (!costs.backwardMs.empty() || hasHalves || isForwardOnly);
  if (costs.measured.empty() && costs.file.empty() && !hasTimes) {
    throw Error(
        "how long do jobs take? Give --costs FILE, --costs-from LOGS, or --forward-ms and "
        "--backward-ms");
  }
  if (!costs.measured.empty()) requireElsewhere(options);
  return readCosts(costs);
}

/// Also adds the recomputes and the messages to the plan, and takes the data-parallel work away: a
/// rehearsal is compared with what it runs.
Costs costsOf(const RehearseOptions& options, GivenCosts& given, CheckedPlan& plan) {
  const int numStages = plan->numStages;
  const std::vector<std::string>& inputs = options.costs.measured;
  if (!inputs.empty()) {
    if (given.forward.size() != static_cast<std::size_t>(numStages)) {
      throw Error(fmt::format("{} is a run of {} stages, but the schedule has {}", inputs.front(),
                              given.forward.size(), numStages));
    }
  }
  Plan run = *plan;
  warnOfUnusedReductions(options.costs, run);
  Costs costs = completeCostsAndPlan(given, run);
  plan = CheckedPlan(asRanksRun(options.messages.change(std::move(run), costs)));
  return costs;
}

/// Returns the signal that ended it, 0 for none.
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

/// Prints the comparison and returns the exit code.
int report(const PlanComparison& comparison, const std::vector<std::string>& faults, bool strict) {
  printText(toText(comparison) + (faults.empty() ? "" : faultsLine(faults) + "\n"));
  const std::vector<std::string> findings = comparison.findings();
  if (!strict || findings.empty()) return 0;
  for (const std::string& finding : findings) printError("pipe-run: --strict: " + finding);
  return 1;
}

int runRehearse(const RehearseOptions& options) {
  const CommStreams commStreams = options.messages.lines();
  // Errors of the plan come before those of the costs, but some plans follow from the costs.
  std::optional<CheckedPlan> plan;
  if (!dependsOnCosts(options)) plan = planOf(options, {});
  GivenCosts given = costsGiven(options);
  if (!plan) plan = planOf(options, given);
  const Costs costs = costsOf(options, given, *plan);
  RehearsalOptions rehearsal{.plan = *plan,
                             .commStreams = commStreams,
                             .steps = options.steps,
                             .logDirectory = options.logDirectory};
  rehearsal.costs = withFaults(options.faults, *rehearsal.plan, options.steps, costs);
  rehearsal.hosts = madeUpHosts(options.faults, rehearsal.plan->numRanks());
  rehearsal.stepTimeout = static_cast<Nanoseconds>(options.stepTimeout * kNsPerSecond);
  rehearsal.comparesClocks = !options.faults.withoutExchange;
  requireRehearsable(rehearsal);
  clearLogFolder(options.logDirectory);
  const Plan& run = **plan;
  const std::string lines = options.messages.linesText();
  printError(fmt::format("rehearsing {} on {}: {} of {}{}", run.name,
                         countText(run.numRanks(), "emulated device"),
                         countText(options.steps, "step"),
                         countText(run.numMicroBatches, "micro-batch", "micro-batches"),
                         lines.empty() ? "" : ", " + lines));
  if (const int signal = rehearseUntilStopped(rehearsal)) {
    printError("pipe-run: stopped by " + signalText(signal));
    return 128 + signal;
  }
  return report(
      compareWithPlan(loadLogs(options.logDirectory), *plan, rehearsal.costs, commStreams),
      options.faults.all(), options.strict);
}

}  // namespace

void describeRehearse(CommandApp& app) {
  static RehearseOptions options;
  addRehearseOptions(app, options);
}

int rehearseCommand(int argc, char** argv) {
  RehearseOptions options;
  CommandApp app("pipe-run rehearse");
  addRehearseOptions(app, options);
  if (const auto code = parseCommandLine(app, argc, argv)) return *code;
  return runRehearse(options);
}

}  // namespace pipetrace
