#include "apps/pipe_trace/show.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "analysis/present/waits_report.h"
#include "analysis/run_summary.h"
#include "apps/cli/checks.h"
#include "apps/cli/command_app.h"
#include "apps/cli/print.h"
#include "apps/cli/selection_options.h"
#include "apps/cli/shared_options.h"
#include "apps/pipe_trace/inputs/load_and_report.h"
#include "apps/pipe_trace/outputs/picture.h"
#include "chart/text/text_chart.h"
#include "ingest/load_run.h"
#include "trace/files/output_file.h"
#include "trace/text/fit_to_print.h"

namespace pipetrace {
namespace {

struct ShowOptions {
  LoadRunOptions load;
  std::optional<int> step;
  std::optional<int> width;
};

void addShowOptions(CommandApp& app, ShowOptions& options) {
  app.description(
      "Draws the compute jobs of a step of a run, or of several (--steps), in characters: a row "
      "per\n"
      "rank, F3 for the forward of micro-batch 3, - for the schedule's own idle time, and a mark\n"
      "for each other cause of it, which the legend explains. A table below says which rank waits\n"
      "for which.");
  app.describeEnd(exitCodesOfReading(), {"pipe-trace show logs --step 3"});
  addLoadRunOptions(app, options.load);
  addStepOption(
      app, [&](int step) { options.step = step; }, " (default: the last that is complete)")
      ->excludes("--steps");
  addShared(app, shared::kWidth, options.width)
      ->check(range(kMinTextChartWidth, kMaxTextChartWidth));
}

}  // namespace

void describeShow(CommandApp& app) {
  static ShowOptions options;
  addShowOptions(app, options);
}

int showCommand(int argc, char** argv, const TraceReaders& readers) {
  ShowOptions options;
  CommandApp app("pipe-trace show");
  addShowOptions(app, options);
  if (const auto code = parseCommandLine(app, argc, argv)) return *code;

  Diagnostics diagnostics;
  Run run = loadAndReport(options.load, readers, diagnostics);
  const std::vector<Doubt> doubts = doubtAndReport(options.load, run, diagnostics);
  const BubbleChoice bubbles = bubblesFor(run, options.load);
  auto [timeline, whole] = std::move(run).ready(bubbles);
  Selection selection = options.load.selection;
  if (options.step) selection.steps = {{*options.step, *options.step + 1}};
  const ShownSteps steps(timeline, selection.steps);
  selection.steps = steps.numbers();
  const RunSummary summary = selected(std::move(whole), selection);
  selection.steps.clear();  // a rank that is already in the next step is not idle
  timeline = selected(std::move(timeline), selection);
  const int width = options.width.value_or(lineColumns());
  const std::string chart =
      textChart(timeline, {.width = width, .range = steps.span(), .colors = showsColors()});
  const std::string waits = waitsReport(timeline, steps.span());
  // The chart has colours, and no name.
  writeWholeFile("-",
                 fitToPrint(steps.headline(summary)) + "\n" + chart +
                     (waits.empty() ? "" : "\nidle time with a culprit\n" + fitToPrint(waits)));
  return exitCodeOf(options.load, diagnostics, doubts);
}

}  // namespace pipetrace
