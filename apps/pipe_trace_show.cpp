#include "apps/pipe_trace_show.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/report/text_report.h"
#include "analysis/run_summary.h"
#include "apps/command_line.h"
#include "apps/load_run.h"
#include "apps/terminal.h"
#include "chart/step_span.h"
#include "chart/text_chart.h"
#include "trace/decimal_time.h"
#include "trace/error.h"
#include "trace/output_file.h"

namespace pipetrace {
namespace {

constexpr int kUsualWidth = 100;

struct ShowOptions {
  LoadRunOptions run;
  std::optional<int> step;
  std::optional<int> width;
};

void addShowOptions(CLI::App& app, ShowOptions& options) {
  app.description(
      "Draws the compute jobs of one step of a run in characters: a row per rank, F3 for the\n"
      "forward of micro-batch 3, - for idle time.");
  app.footer(
      "Exit codes: 0 done; 2 could not.\n"
      "Example: pipe-trace show logs --step 3");
  setUp(app);
  app.add_option("INPUT", options.run.inputs,
                 "Folders with workerlog.<rank>, single logs, profiles; - is standard input")
      ->type_name("")
      ->required();
  app.add_option("--step", options.step, "Step to draw (default: the last that is complete)")
      ->type_name("N")
      ->check(CLI::Range(0, 2'000'000'000).description(""));
  app.add_option("--width", options.width,
                 "Columns of a line (default: those of the terminal, or 100)")
      ->type_name("C")
      ->check(CLI::Range(kMinTextChartWidth, kMaxTextChartWidth).description(""));
  app.add_option(
         "--run", options.run.run,
         "Of logs that hold several runs, read this one, counted from 0 (default: the last)")
      ->type_name("N")
      ->check(CLI::Range(0, 1'000'000'000).description(""));
}

/// By step: its compute jobs.
std::map<std::int32_t, std::int64_t> jobsOfSteps(const Timeline& timeline) {
  std::map<std::int32_t, std::int64_t> jobs;
  for (const Track& track : timeline.tracks) {
    for (const Event& event : track.events) {
      if (isCompute(event.kind)) ++jobs[event.step];
    }
  }
  return jobs;
}

/// The last with as many jobs as any has: a run that was stopped has fewer in its last.
const StepSpan& lastComplete(const std::vector<StepSpan>& steps, const Timeline& timeline) {
  const auto jobs = jobsOfSteps(timeline);
  const StepSpan* best = &steps.front();
  for (const StepSpan& step : steps) {
    if (jobs.at(step.step) >= jobs.at(best->step)) best = &step;
  }
  return *best;
}

const StepSpan& chosenStep(const std::vector<StepSpan>& steps, const Timeline& timeline,
                           std::optional<int> wanted) {
  if (!wanted) return lastComplete(steps, timeline);
  for (const StepSpan& step : steps) {
    if (step.step == *wanted) return step;
  }
  const auto [first, last] =
      std::minmax_element(steps.begin(), steps.end(),
                          [](const StepSpan& a, const StepSpan& b) { return a.step < b.step; });
  throw Error(fmt::format("the run has no step {}; it has {} from {} to {}", *wanted, steps.size(),
                          first->step, last->step));
}

std::string headline(const StepSpan& step, std::size_t steps, const Timeline& timeline) {
  std::string text =
      fmt::format("step {} of {}: {}", step.step, steps, formatDuration(step.end - step.begin));
  const RunSummary summary = summarize(timeline);
  const bool hasReplicas = summary.steps.size() > steps;
  for (const StepSummary& each : summary.steps) {
    if (each.step != step.step) continue;
    text += ", bubble ratio " + ratioText(each.bubbleRatio);
    if (hasReplicas) text += fmt::format(" (pipeline {})", each.replica);
  }
  return text + "\n";
}

}  // namespace

int showCommand(int argc, char** argv) {
  ShowOptions options;
  CLI::App app("", "pipe-trace show");
  addShowOptions(app, options);
  if (const auto code = parseCommandLine(app, argc, argv)) return *code;

  Diagnostics diagnostics;
  const Timeline timeline = loadRun(options.run, diagnostics);
  const std::vector<StepSpan> steps = stepSpans(timeline);
  if (steps.empty()) throw Error("there is no step to draw: the run has no compute job");
  const StepSpan& step = chosenStep(steps, timeline, options.step);
  const int width =
      options.width.value_or(std::max(terminalColumns().value_or(kUsualWidth), kMinTextChartWidth));
  const std::string chart = textChart(timeline, {.width = width,
                                                 .unitWidth = width,
                                                 .range = Timeline::Span{step.begin, step.end},
                                                 .colors = showsColors()});
  writeWholeFile("-", headline(step, steps.size(), timeline) + chart);
  return 0;
}

}  // namespace pipetrace
