#include "apps/pipe_trace/plan/plan.h"

#include <fmt/format.h>
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string>

#include "analysis/clocks/wrong_clocks.h"
#include "analysis/costs/costs_file.h"
#include "analysis/costs/given_costs.h"
#include "analysis/present/plan_report.h"
#include "analysis/run/run.h"
#include "analysis/run_summary.h"
#include "apps/cli/command_app.h"
#include "apps/cli/command_line.h"
#include "apps/cli/costs.h"
#include "apps/cli/print.h"
#include "apps/cli/terminal.h"
#include "apps/pipe_trace/plan/comparison.h"
#include "apps/pipe_trace/plan/options.h"
#include "apps/pipe_trace/plan/outputs.h"
#include "apps/pipe_trace/plan/source.h"
#include "chart/text/text_chart.h"
#include "ingest/output_files.h"
#include "schedule/check/check.h"
#include "schedule/file/check_file.h"
#include "schedule/file/paddle_job_list.h"
#include "schedule/file/schedule_writer.h"
#include "schedule/file/torch_csv.h"
#include "schedule/partition/best_partition.h"
#include "schedule/partition/partition_text.h"
#include "schedule/simulate/simulate.h"
#include "trace/error.h"
#include "trace/files/output_file.h"
#include "trace/text/fit_to_print.h"
#include "trace/text/number_text.h"

namespace pipetrace {

namespace {

/// Throws Error for a plan whose partition cannot be searched: that of the schedule auto, which is
/// made for the costs of its stages.
void requireSearchable(const PlanOptions& options) {
  try {
    requireSearchable(options.schedule);
  } catch (const Error& error) {
    throw Error(
        fmt::format("--blocks: {}, and then auto with the costs of --costs-out", error.what()));
  }
}

/// The best partition of `blocks` for the plan. Throws Error where none fits into `limit` bytes,
/// with what is missing, and as bestPartition() does. `limitGb` is the option as it was typed.
BestPartition partitionWithin(const Plan& plan, const BlockTable& blocks, std::int64_t limit,
                              const std::string& limitGb) {
  BestPartition found = bestPartition(CheckedPlan(plan), blocks, {.memoryLimit = limit});
  if (found.best.excess == 0) return found;
  const auto& peaks = found.best.peakMemory;
  const auto fullest = std::max_element(peaks.begin(), peaks.end());
  throw Error(fmt::format("no partition {} --limit {}: the best takes {} on rank {}, {} too much",
                          found.isProven ? "fits into" : "was found that fits into", limitGb,
                          bytesText(*fullest), fullest - peaks.begin(),
                          bytesText(found.best.excess)));
}

/// The costs of its stages, without memory where that of the blocks is not known.
GivenCosts givenCostsOf(const BlockTable& blocks, const Plan& plan,
                        const BlockPartition& partition) {
  GivenCosts given = givenCosts(costsOf(blocks, plan, partition));
  if (blocks.hasMemory()) return given;
  for (GivenCosts::Values* const memory : {&given.activation, &given.freedByInput,
                                           &given.recomputed, &given.working, &given.weights}) {
    memory->clear();
  }
  return given;
}

// PaddlePaddle's converter takes a step that begins at 0 for none.
constexpr Nanoseconds kBegin = 1'000'000;

/// The plan to simulate, and the limits that it is checked against.
struct PlanInput {
  ReadablePlan source;  // not checked yet
  GivenCosts given;
  Costs costs;
  CheckOptions checks;
  std::optional<BestPartition> partition;  // of --blocks
};

int buffersOf(const std::string& text) {
  if (text.empty() || text == "unbounded") return kUnboundedBuffers;
  if (text == "blocking") return kBlocking;
  int messages = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, messages);
  if (error == std::errc() && rest == end && messages >= 1) return messages;
  throw Error("--buffers " + text +
              ": buffers are unbounded, blocking, or a number of messages, at least 1");
}

void requireOneResult(const PlanOptions& options) {
  std::string claims;
  int count = 0;
  const auto claim = [&](bool given, const char* option) {
    if (!given) return;
    claims += (count++ == 0 ? "" : " and ") + std::string(option);
  };
  claim(options.list, "--list");
  claim(options.json, "--json");
  claim(options.check && !options.json, "--check");
  claim(options.compare && !options.json, "--compare");
  claim(options.jobList, "--job-list");
  claim(options.csv == "-", "--csv -");
  claim(options.costsOut == "-", "--costs-out -");
  claim(options.partitionOut == "-", "--partition-out -");
  if (count > 1) throw Error(claims + " all want standard output; write one of them to a file");
  const int inputs = static_cast<int>(options.scheduleFile == "-") +
                     static_cast<int>(options.costs.file == "-") +
                     static_cast<int>(options.blocks == "-") +
                     static_cast<int>(std::count(options.costs.measured.begin(),
                                                 options.costs.measured.end(), "-"));
  if (inputs > 1) throw Error("standard input can be read once only; name a file");
}

void requireKnownReader(const std::string& program) {
  if (program.empty() || program == "torch") return;
  throw Error("--for " + program +
              ": it is torch; without --for the file is one that --schedule-file reads");
}

/// With the lines of its messages.
std::string titleOf(const Plan& plan, const PlanOptions& options) {
  const std::string lines = options.messages.linesText();
  return planTitle(plan) + (lines.empty() ? "" : ", " + lines);
}

std::string chartText(const Simulation& simulation, const PlanOptions& options,
                      const PlanReport& report) {
  const TextChartOptions chart{.width = options.width.value_or(lineColumns()),
                               .colors = showsColors()};
  // A chart needs an axis.
  const std::string drawn =
      simulation.length > 0 ? textChart(simulation.timeline, chart) : "all of it takes no time\n";
  return fitToPrint(titleOf(report.plan, options)) + "\n" + drawn + "\n" +
         fitToPrint(planText(report, std::min(chart.width, kWidestProse)));
}

std::string jobLists(const Plan& plan, const PaddleJobListOptions& options) {
  std::string text;
  for (int rank = 0; rank < plan.numRanks(); ++rank) {
    text += fmt::format("rank {}: {}\n", rank, toText(paddleJobList(plan, rank, options)));
  }
  return text;
}

/// Fills in what a run says that the options leave open.
PlanInput readInput(PlanOptions& options) {
  PlanInput input;
  const bool searches = !options.blocks.empty();
  BlockTable blocks;
  if (searches) blocks = readBlocks(options.blocks);
  std::optional<RunPlan> run;
  input.given = readCosts(options.costs, &run);
  if (run) takeFromRun(options, *run);
  const std::int64_t limit =
      searches ? readLimit(options.limitGb, blocks) : readLimit(options.limitGb, input.given);
  if (searches) requireSearchable(options);
  input.source = planOf(options, input.given, limit);
  Plan& plan = input.source.plan;
  options.change(plan);
  options.cutGradients(plan);
  if (searches) {
    input.partition = partitionWithin(plan, blocks, limit, options.limitGb);
    input.given = givenCostsOf(blocks, plan, input.partition->best.partition);
    plan = withRecompute(plan, input.partition->best.partition);
  }
  warnOfUnusedReductions(options.costs, plan);
  input.costs = completeCostsAndPlan(input.given, plan);
  input.checks.commStreams = options.messages.lines();
  // Without --transfers a plan that cannot run is checked as it is.
  if (!options.check || !options.messages.transfers.empty() || pipetrace::check(plan).empty()) {
    plan = options.messages.change(std::move(plan), input.costs);
  }
  input.checks.buffers = buffersOf(options.buffers);
  input.checks.memoryLimit = limit;
  input.checks.mostVersions = options.mostVersions;
  input.checks.mostDistance = options.mostDistance;
  input.checks.ranks = options.ranks.value_or(0);
  input.checks.microBatches = options.microBatches.value_or(0);
  return input;
}

int runCheck(const PlanInput& input, const PlanOptions& options) {
  const Plan& plan = input.source.plan;
  const std::vector<Problem> problems = check(input.source, input.checks);
  if (options.json) {
    writeWholeFile("-", planJson({.plan = plan,
                                  .costs = &input.costs,
                                  .problems = problems,
                                  .faults = options.faults.all(),
                                  .commStreams = options.messages.commStreams}));
  } else {
    std::string text;
    for (const Problem& problem : problems) {
      if (problem.line > 0) text += fmt::format("line {}:{}: ", problem.line, problem.column);
      text += toText(problem) + "\n";
    }
    if (problems.empty()) text = titleOf(plan, options) + ": nothing is wrong\n";
    printText(text);
  }
  return problems.empty() ? 0 : kExitFindings;
}

/// Throws Error for a plan of another size: a file that has lost its last ranks is a plan, too.
void requireAskedSize(const CheckedPlan& plan, const CheckOptions& checks) {
  const std::vector<Problem> problems = checkSize(plan, checks);
  if (problems.empty()) return;
  throw Error("the plan " + plan->name +
              " has another size than the one asked for: " + toText(problems.front()));
}

/// Reports the limits that the plan exceeds. It is drawn all the same.
std::vector<Problem> limitFindings(const CheckedPlan& plan, const CheckOptions& checks) {
  std::vector<Problem> problems = checkLimits(plan, checks);
  for (const Problem& problem : problems) {
    printError("pipe-trace plan: " + toText(problem));
  }
  return problems;
}

/// A plan for torch runs on NCCL, too.
void warnOfDeadlockInLine(const CheckedPlan& plan) {
  const std::vector<Problem> stuck = checkLimits(plan, {.commStreams = CommStreams::kRank});
  if (stuck.empty()) return;
  printError(
      "pipe-trace plan: warning: where NCCL runs the messages of a rank one after the "
      "other, this plan deadlocks; with --transfers in-time it does not (" +
      toText(stuck.front()) + ")");
}

/// No host may log times before 0.
Nanoseconds beginFor(const std::vector<MadeUpHost>& hosts) {
  Nanoseconds begin = kBegin;
  for (const MadeUpHost& host : hosts) begin = std::max(begin, kBegin - host.skew.offset);
  return begin;
}

Simulation simulated(const CheckedPlan& plan, const Costs& costs, int steps, Nanoseconds begin,
                     CommStreams commStreams) {
  Simulation simulation = simulate(
      plan, costs, {.steps = steps, .begin = begin, .counters = true, .commStreams = commStreams});
  // Times in a report count from the start of the plan.
  for (CriticalPath::Link& link : simulation.criticalPath.links) {
    link.begin -= begin;
    link.end -= begin;
  }
  return simulation;
}

/// Throws Error where a file to write is of a run whose costs are read.
void requireOutsideRuns(const PlanOptions& options) {
  std::vector<std::string> files;
  for (const std::string& output : options.outputs) {
    if (!PlanOutputs::isFolder(output)) files.push_back(output);
  }
  for (const std::string& output : {options.csv, options.costsOut, options.partitionOut}) {
    if (!output.empty()) files.push_back(output);
  }
  checkOutputFiles(files, {.inputs = options.costs.measured});
}

int runPlan(PlanOptions options) {
  requireOneResult(options);
  requireKnownReader(options.csvFor);
  if (options.list) {
    printText(scheduleList());
    return 0;
  }
  requireChunksOfSchedule(options);
  if (options.compare) return runComparison(options);
  PlanOutputs outputs(options.outputs, themeOf(options.theme, options.isDark));
  requireOutsideRuns(options);
  PlanInput input = readInput(options);
  input.checks.costs = &input.costs;
  if (options.check) {
    withFaults(options.faults, input.source.plan, options.steps, input.costs);
    return runCheck(input, options);
  }
  const CheckedPlan plan(std::move(input.source.plan));
  requireAskedSize(plan, input.checks);

  const Costs costs = withFaults(options.faults, *plan, options.steps, input.costs);
  const std::vector<MadeUpHost> hosts = madeUpHosts(options.faults, plan->numRanks());
  Simulation simulation =
      simulated(plan, costs, options.steps, beginFor(hosts), input.checks.commStreams);
  PlanFigures figures = planFigures(*plan, simulation);
  // The formulas are those of whole plans which nothing holds back.
  const bool isAsKnown = !options.forwardOnly && options.credits.value_or(0) == 0 &&
                         options.messages.commStreams.empty();
  if (!options.schedule.empty() && options.stageRanks.empty() && options.stageDepths.empty() &&
      isAsKnown) {
    figures.closedForm = closedFormOf(options.schedule, options.size(), costs);
  }
  const PlanReport report{.plan = *plan,
                          .costs = &input.costs,
                          .figures = &figures,
                          .steps = options.steps,
                          .hasMemory = input.given.hasMemory(),
                          .problems = limitFindings(plan, input.checks),
                          .faults = options.faults.all(),
                          .commStreams = options.messages.commStreams,
                          .partition = input.partition ? &*input.partition : nullptr};
  if (!report.hasMemory) {
    std::erase_if(simulation.timeline.counters,
                  [](const CounterSeries& series) { return series.name == kMemoryCounter; });
  }
  simulation.timeline = Run(std::move(simulation.timeline)).ready(BubbleChoice::kFound).timeline;
  if (hosts.empty()) {
    outputs.addRun(simulation.timeline, simulation.timeline, planLine(figures));
  } else {
    outputs.addRun(simulation.timeline,
                   loggedByHosts(simulation.timeline, hosts, !options.faults.withoutExchange),
                   planLine(figures));
  }
  if (!options.csv.empty()) {
    outputs.addText(options.csv, options.csvFor.empty() ? toCsv(*plan) : toTorchCsv(plan));
    if (!options.csvFor.empty()) warnOfDeadlockInLine(plan);
  }
  if (!options.costsOut.empty()) {
    outputs.addText(options.costsOut, toCostsFile(givenCosts(input.costs)));
  }
  if (!options.partitionOut.empty()) {
    outputs.addText(options.partitionOut, partitionFile(input.partition->best.partition));
  }
  const bool printsChart = !options.hasOtherResult() && options.costsOut != "-";
  if (options.json) {
    outputs.addText("-", planJson(report));
  } else if (options.jobList) {
    outputs.addText("-", jobLists(*plan, options.jobs));
  } else if (printsChart) {
    const std::string& lines = outputs.lines();
    outputs.addText("-", chartText(simulation, options, report) +
                             (lines.empty() ? "" : "\n" + fitToPrint(lines)));
  }
  outputs.commit();
  if (!printsChart) printError(outputs.lines());
  return 0;
}

}  // namespace

void describePlan(CommandApp& app) {
  static PlanOptions options;
  addPlanOptions(app, options);
}

int planCommand(int argc, char** argv) {
  PlanOptions options;
  CommandApp app("pipe-trace plan");
  addPlanOptions(app, options);
  if (const auto code = parseCommandLine(app, argc, argv)) return *code;
  return runPlan(std::move(options));
}

}  // namespace pipetrace
