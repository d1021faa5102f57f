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

namespace {

/// A run that is explained as the options of the command ask for it.
class ExplainedRun {
 public:
  /// `app` has parsed them. `needsNames`: for a page. Everything must outlive it. Throws Error for
  /// a run without a compute job.
  ExplainedRun(const CommandApp& app, const ReportOptions& options, const LoadedRun& run,
               bool needsNames)
      : options_(options),
        choices_(choicesOf(options)),
        diagnostics_(run.diagnostics),
        explanation_(run.run, choices_),
        report_{.explanation = explanation_,
                .diagnostics = diagnostics_,
                .alignment = &run.alignment,
                .all = options.all,
                .viewCommand = viewCommandOf(options.load),
                .doubts = run.doubts} {
    if (explanation_.ranks.empty()) {
      throw Error("the inputs hold no compute job, so there is nothing to explain");
    }
    if (options.peakTflops && !explanation_.modelFlopsUtilization) {
      late_.add({.message = "--peak-tflops has no effect: nobody knows the operations of a step",
                 .advice = "--flops-per-step gives them"});
      diagnostics_.add(late_.list().front());
    }
    advice_ = adviceFor(run.run, choices_, inputsOfCommand(app, options.load));
    if (advice_) report_.advice = &*advice_;
    if (options.byName || needsNames) names_ = timesByName(run.run.timeline(), run.run.threads());
  }
  ExplainedRun(const ExplainedRun&) = delete;
  ExplainedRun& operator=(const ExplainedRun&) = delete;

  std::string text(ReportFormat format) const {
    RunReport report = report_;
    if (options_.byName || format == ReportFormat::kPage) report.names = &names_;
    return textOf(report, format, options_);
  }
  /// What was found after the run was read.
  const Diagnostics& late() const { return late_; }
  const Diagnostics& diagnostics() const { return diagnostics_; }

 private:
  static ExplainOptions choicesOf(const ReportOptions& options) {
    ExplainOptions choices{.steps = options.load.selection.steps,
                           .tokensPerStep = options.tokensPerStep,
                           .flopsPerStep = options.flopsPerStep,
                           .peakFlops = {}};
    const std::vector<std::string>& inputs = options.load.inputs;
    if (inputs.size() == 1 && inputs[0] != "-") choices.logs = inputWord(inputs[0]);
    if (options.peakTflops) choices.peakFlops = *options.peakTflops * 1e12;
    return choices;
  }

  const ReportOptions& options_;
  ExplainOptions choices_;
  Diagnostics diagnostics_;
  Diagnostics late_;
  Explanation explanation_;
  std::optional<AdviceList> advice_;
  std::vector<TimeByName> names_;
  RunReport report_;
};

}  // namespace

int reportCommand(int argc, char** argv, const TraceReaders& readers) {
  ReportOptions options;
  CommandApp app("pipe-trace report");
  addReportOptions(app, options);
  if (const auto code = parseCommandLine(app, argc, argv)) return *code;

  options.outputs.quiet = options.load.quiet;
  options.load.beginsWithDoubts = true;
  checkReportOutputs(options.outputs);
  checkOutputFiles(options.outputs.names, options.load);
  LoadedRun run{.load = options.load};
  run.run = loadAndReport(options.load, readers, run.diagnostics, &run.files, &run.alignment);
  checkOutputs(options.outputs.names, run.files);
  run.doubts = doubtsOf(run.run, run.diagnostics);
  requireMeaning(run.doubts, options.force);
  if (options.byName && run.run.graph().ranks().empty()) {
    const std::vector<TimeByName> names = timesByName(run.run.timeline(), run.run.threads());
    printText(timeByNameText(names, options.all).substr(1));
  }
  const ExplainedRun explained(app, options, run, wantsPage(options.outputs));
  printDiagnostics(explained.late(), lowestSeverity(options.load));
  writeReports(options.outputs, [&](ReportFormat format) { return explained.text(format); });
  return exitCodeOf(options.load, explained.diagnostics(), run.doubts);
}

std::string reportOn(const LoadedRun& run, const std::vector<std::string>& words,
                     ReportFormat format) {
  ReportOptions options;
  CommandApp app("pipe-trace report");
  addReportOptions(app, options);
  parseWords(app, words);
  requireMeaning(run.doubts, options.force);
  return ExplainedRun(app, options, run, format == ReportFormat::kPage).text(format);
}

}  // namespace pipetrace
