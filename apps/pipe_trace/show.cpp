#include "apps/pipe_trace/show.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/report/text_report.h"
#include "analysis/run_summary.h"
#include "apps/cli/command_line.h"
#include "apps/cli/terminal.h"
#include "apps/pipe_trace/load_and_report.h"
#include "chart/step_span.h"
#include "chart/text/text_chart.h"
#include "trace/error.h"
#include "trace/files/output_file.h"
#include "trace/text/decimal_time.h"

namespace pipetrace {
namespace {

struct ShowOptions {
  LoadRunOptions load;
  std::optional<int> step;
  std::optional<int> width;
};

void addShowOptions(CLI::App& app, ShowOptions& options) {
  app.description(
      "Draws the compute jobs of a step of a run, or of several (--steps), in characters: a row "
      "per\n"
      "rank, F3 for the forward of micro-batch 3, - for idle time.");
  app.footer(
      "Exit codes: 0 done; 1 done, with --strict and findings in the input; 2 could not.\n"
      "Example: pipe-trace show logs --step 3");
  setUp(app);
  addLoadRunOptions(app, options.load);
  app.get_option("INPUT")->required();
  app.add_option("--step", options.step, "Step to draw (default: the last that is complete)")
      ->type_name("N")
      ->check(CLI::Range(0, 2'000'000'000).description(""))
      ->excludes("--steps");
  app.add_option("--width", options.width,
                 "Columns of a line (default: those of the terminal, else COLUMNS, else 100)")
      ->type_name("C")
      ->check(CLI::Range(kMinTextChartWidth, kMaxTextChartWidth).description(""));
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

/// The steps to draw, in the order of their begins.
std::vector<StepSpan> chosenSteps(const std::vector<StepSpan>& steps, const Timeline& timeline,
                                  const ShowOptions& options) {
  if (!options.step && options.load.selection.steps.empty()) return {lastComplete(steps, timeline)};
  std::vector<StepSpan> chosen;
  for (const StepSpan& step : steps) {
    const bool isWanted =
        options.step ? step.step == *options.step : options.load.selection.wantsStep(step.step);
    if (isWanted) chosen.push_back(step);
  }
  if (!chosen.empty()) return chosen;
  const auto [first, last] =
      std::minmax_element(steps.begin(), steps.end(),
                          [](const StepSpan& a, const StepSpan& b) { return a.step < b.step; });
  throw Error(fmt::format("the run has no step {}; it has {} from {} to {}",
                          options.step.value_or(kNotGiven), steps.size(), first->step, last->step));
}

Timeline::Span spanOf(const std::vector<StepSpan>& steps) {
  Timeline::Span span{steps.front().begin, steps.front().end};
  for (const StepSpan& step : steps) span.end = std::max(span.end, step.end);
  return span;
}

/// "3", or "0 to 4", by the numbers of the steps.
std::string numbersOf(const std::vector<StepSpan>& steps) {
  const auto [first, last] =
      std::minmax_element(steps.begin(), steps.end(),
                          [](const StepSpan& a, const StepSpan& b) { return a.step < b.step; });
  return first->step == last->step ? std::to_string(first->step)
                                   : fmt::format("{} to {}", first->step, last->step);
}

std::string headline(const std::vector<StepSpan>& chosen, const std::vector<StepSpan>& steps,
                     const RunSummary& summary) {
  const Timeline::Span span = spanOf(chosen);
  std::string text = (chosen.size() == 1 ? "step " : "steps ") + numbersOf(chosen);
  text += steps.size() == 1 ? ", the only one: " : " of " + numbersOf(steps) + ": ";
  text += formatDuration(span.end - span.begin);
  if (chosen.size() > 1) return text + ", bubble ratio " + ratioText(summary.bubbleRatio) + "\n";
  for (const StepSummary& each : summary.steps) {
    text += ", bubble ratio " + ratioText(each.bubbleRatio);
    if (summary.steps.size() > 1) text += fmt::format(" (pipeline {})", each.replica);
  }
  return text + "\n";
}

}  // namespace

void describeShow(CLI::App& app) {
  static ShowOptions options;
  addShowOptions(app, options);
}

int showCommand(int argc, char** argv) {
  ShowOptions options;
  CLI::App app("", "pipe-trace show");
  addShowOptions(app, options);
  if (const auto code = parseCommandLine(app, argc, argv)) return *code;

  Diagnostics diagnostics;
  Timeline timeline = loadAndReport(options.load, diagnostics);
  const std::vector<StepSpan> steps = stepSpans(timeline);
  if (steps.empty()) throw Error("there is no step to draw: the run has no compute job");
  const std::vector<StepSpan> chosen = chosenSteps(steps, timeline, options);
  Selection selection = options.load.selection;
  selection.steps.clear();
  for (const StepSpan& step : chosen) selection.steps.push_back({step.step, step.step + 1});
  const RunSummary summary = selected(summarize(timeline, options.load.reading.threads), selection);
  selection.steps.clear();  // a rank that is already in the next step is not idle
  timeline = selected(std::move(timeline), selection);
  const int width = options.width.value_or(lineColumns());
  const std::string chart =
      textChart(timeline, {.width = width, .range = spanOf(chosen), .colors = showsColors()});
  writeWholeFile("-", headline(chosen, steps, summary) + chart);
  return exitCodeOf(options.load, diagnostics);
}

}  // namespace pipetrace
