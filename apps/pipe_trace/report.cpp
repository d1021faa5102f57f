#include "apps/pipe_trace/report.h"

#include <optional>
#include <string>
#include <utility>

#include "analysis/present/advice_report.h"
#include "analysis/present/page/run_page.h"
#include "analysis/present/run_report.h"
#include "analysis/time_by_name.h"
#include "apps/cli/checks.h"
#include "apps/cli/command_app.h"
#include "apps/cli/print.h"
#include "apps/pipe_trace/inputs/load_and_report.h"
#include "apps/pipe_trace/inputs/view_command.h"
#include "apps/pipe_trace/outputs/report_outputs.h"
#include "ingest/output_files.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

struct ReportOptions {
  LoadRunOptions load;
  ReportOutputs outputs;
  bool all = false;
  bool byName = false;
  bool force = false;
  std::optional<double> tokensPerStep;
  std::optional<double> flopsPerStep;
  std::optional<double> peakTflops;
};

void addReportOptions(CommandApp& app, ReportOptions& options) {
  app.description(
      "Explains a run: which stage, link or job made ranks wait, and for how long. Findings come\n"
      "first, then numbers. docs/metrics.md defines them.");
  app.describeEnd(exitCodesOfReading(),
                  {"pipe-trace report logs", "pipe-trace report logs -o report.html",
                   "pipe-trace report logs --json"});
  addLoadRunOptions(app, options.load);
  refuseParts(app, "a report");
  addReportOutputs(app, options.outputs, "docs/report.schema.json");
  app.add_flag("--all", options.all,
               "List every finding; with --json also every bubble, and the slack of every job");
  app.add_flag(
      "--by-name", options.byName,
      "Also list the time by operator, kernel or job and rank: calls, own and total; a page "
      "has it anyway");
  addForce(app, options.force);
  app.add_option("--tokens-per-step", options.tokensPerStep,
                 "Tokens of the whole run in one step, where logs do not know")
      ->type_name("N")
      ->check(aboveZero());
  app.add_option("--flops-per-step", options.flopsPerStep,
                 "The model's floating-point operations in one step, where logs do not know")
      ->type_name("N")
      ->check(aboveZero());
  app.add_option("--peak-tflops", options.peakTflops,
                 "Peak of one device in 10^12 operations a second, for the model FLOPs utilization")
      ->type_name("N")
      ->check(aboveZero());
}

std::string textOf(const RunReport& report, ReportFormat format, const ReportOptions& options) {
  switch (format) {
    case ReportFormat::kText: return runReportText(report);
    case ReportFormat::kJson: return runReportJson(report);
    case ReportFormat::kPage: break;
  }
  RunPageOptions page{.name = inputsTitle(options.load.inputs), .version = PIPETRACE_VERSION};
  if (report.advice != nullptr) {
    page.advice = adviceSentences(*report.advice);
    page.adviceNotes = report.advice->notes;
  }
  return runPage(report, page);
}

/// None of a run so large that a report would wait for it.
std::optional<AdviceList> adviceFor(const Run& run, const ExplainOptions& choices,
                                    const std::string& logs) {
  constexpr JobGraph::Id kMostJobs = 100'000;
  constexpr std::int64_t kMostSimulatedJobs = 1'000'000;  // seconds
  constexpr std::size_t kMostCollectives = 3'000'000;     // inside jobs
  if (run.graph().jobCount() > kMostJobs) return std::nullopt;
  if (run.graph().inside().meetings().size() > kMostCollectives) return std::nullopt;
  try {
    return adviceOn(run, {.steps = choices.steps, .mostJobs = kMostSimulatedJobs, .logs = logs});
  } catch (const Error&) {
    return std::nullopt;  // such as no step that counts
  }
}

}  // namespace

void describeReport(CommandApp& app) {
  static ReportOptions options;
  addReportOptions(app, options);
}

int reportCommand(int argc, char** argv, const TraceReaders& readers) {
  ReportOptions options;
  CommandApp app("pipe-trace report");
  addReportOptions(app, options);
  if (const auto code = parseCommandLine(app, argc, argv)) return *code;

  options.outputs.quiet = options.load.quiet;
  options.load.beginsWithDoubts = true;
  checkReportOutputs(options.outputs);
  checkOutputFiles(options.outputs.names, options.load);
  Diagnostics diagnostics;
  Alignment alignment;
  std::vector<LoadedFile> files;
  const Run run = loadAndReport(options.load, readers, diagnostics, &files, &alignment);
  checkOutputs(options.outputs.names, files);
  std::vector<Doubt> doubts = doubtsOf(run, diagnostics);
  requireMeaning(doubts, options.force);
  ExplainOptions choices{.steps = options.load.selection.steps,
                         .tokensPerStep = options.tokensPerStep,
                         .flopsPerStep = options.flopsPerStep,
                         .peakFlops = {}};
  const std::vector<std::string>& inputs = options.load.inputs;
  if (inputs.size() == 1 && inputs[0] != "-") choices.logs = inputWord(inputs[0]);
  if (options.peakTflops) choices.peakFlops = *options.peakTflops * 1e12;
  const Explanation explanation(run, choices);
  if (explanation.ranks.empty()) {
    if (options.byName) {
      printText(timeByNameText(timesByName(run.timeline(), run.threads()), options.all).substr(1));
    }
    throw Error("the inputs hold no compute job, so there is nothing to explain");
  }
  if (options.peakTflops && !explanation.modelFlopsUtilization) {
    Diagnostics late;
    late.add({.message = "--peak-tflops has no effect: nobody knows the operations of a step",
              .advice = "--flops-per-step gives them"});
    printDiagnostics(late, lowestSeverity(options.load));
    diagnostics.add(late.list().front());
  }
  const std::optional<AdviceList> advice =
      adviceFor(run, choices, inputsOfCommand(app, options.load));
  std::vector<TimeByName> names;
  if (options.byName || wantsPage(options.outputs)) {
    names = timesByName(run.timeline(), run.threads());
  }
  const RunReport report{.explanation = explanation,
                         .diagnostics = diagnostics,
                         .alignment = &alignment,
                         .all = options.all,
                         .viewCommand = viewCommandOf(options.load),
                         .advice = advice ? &*advice : nullptr,
                         .doubts = std::move(doubts),
                         .names = options.byName ? &names : nullptr};
  RunReport page = report;
  page.names = &names;
  writeReports(options.outputs, [&](ReportFormat format) {
    return textOf(format == ReportFormat::kPage ? page : report, format, options);
  });
  return exitCodeOf(options.load, diagnostics, report.doubts);
}

}  // namespace pipetrace
