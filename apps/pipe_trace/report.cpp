#include "apps/pipe_trace/report.h"

#include <optional>
#include <string>

#include "analysis/run_report/run_report.h"
#include "apps/cli/checks.h"
#include "apps/cli/command_app.h"
#include "apps/cli/command_line.h"
#include "apps/cli/print_diagnostics.h"
#include "apps/pipe_trace/inputs/load_and_report.h"
#include "apps/pipe_trace/inputs/view_command.h"
#include "trace/error.h"
#include "trace/files/output_file.h"

namespace pipetrace {
namespace {

struct ReportOptions {
  LoadRunOptions load;
  bool json = false;
  bool all = false;
  std::optional<double> tokensPerStep;
  std::optional<double> flopsPerStep;
  std::optional<double> peakTflops;
};

void addReportOptions(CommandApp& app, ReportOptions& options) {
  app.description(
      "Explains a run: which stage, link or job made ranks wait, and for how long. Findings come\n"
      "first, then numbers. docs/metrics.md defines them.");
  app.describeEnd(exitCodesOfReading(),
                  {"pipe-trace report logs", "pipe-trace report logs --json"});
  addLoadRunOptions(app, options.load);
  refuseParts(app, "a report");
  app.add_flag("--json", options.json, "Print it as JSON (docs/report.schema.json)");
  app.add_flag("--all", options.all,
               "List every finding; with --json also every bubble, and the slack of every job");
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

}  // namespace

void describeReport(CommandApp& app) {
  static ReportOptions options;
  addReportOptions(app, options);
}

int reportCommand(int argc, char** argv) {
  ReportOptions options;
  CommandApp app("pipe-trace report");
  addReportOptions(app, options);
  if (const auto code = parseCommandLine(app, argc, argv)) return *code;

  Diagnostics diagnostics;
  Alignment alignment;
  const Timeline timeline = loadAndReport(options.load, diagnostics, nullptr, &alignment);
  ExplainOptions choices{.steps = options.load.selection.steps,
                         .tokensPerStep = options.tokensPerStep,
                         .flopsPerStep = options.flopsPerStep,
                         .peakFlops = {},
                         .threads = options.load.reading.threads};
  const std::vector<std::string>& inputs = options.load.inputs;
  if (inputs.size() == 1 && inputs[0] != "-") choices.logs = inputWord(inputs[0]);
  if (options.peakTflops) choices.peakFlops = *options.peakTflops * 1e12;
  const Explanation explanation = explainRun(timeline, choices);
  if (explanation.ranks.empty()) {
    throw Error("the inputs hold no compute job, so there is nothing to explain");
  }
  if (options.peakTflops && !explanation.modelFlopsUtilization) {
    Diagnostics late;
    late.add({.message = "--peak-tflops has no effect: nobody knows the operations of a step",
              .advice = "--flops-per-step gives them"});
    printDiagnostics(late, lowestSeverity(options.load));
    diagnostics.add(late.list().front());
  }
  const RunReport report{timeline,   explanation, diagnostics,
                         &alignment, options.all, viewCommandOf(options.load)};
  if (options.json) {
    writeWholeFile("-", runReportJson(report));
  } else if (!options.load.quiet) {
    writeWholeFile("-", runReportText(report));
  }
  return exitCodeOf(options.load, diagnostics);
}

}  // namespace pipetrace
