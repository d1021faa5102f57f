#include "apps/pipe_trace/outputs/picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "analysis/present/summary_report.h"
#include "chart/chart_model.h"
#include "chart/draw/svg_canvas.h"
#include "trace/error.h"
#include "trace/text/decimal_time.h"

namespace pipetrace {
namespace {

/// The number of compute jobs of each step.
std::map<std::int32_t, std::int64_t> jobsOfSteps(const Timeline& timeline) {
  std::map<std::int32_t, std::int64_t> jobs;
  for (const Track& track : timeline.tracks) {
    for (const Event& event : track.events) {
      if (isCompute(event.kind)) ++jobs[event.step];
    }
  }
  return jobs;
}

/// The last step that has the largest number of jobs. A run that was stopped has fewer in its last
/// step.
StepSpan lastComplete(const std::vector<StepSpan>& steps, const Timeline& timeline) {
  const auto jobs = jobsOfSteps(timeline);
  const StepSpan* best = &steps.front();
  for (const StepSpan& step : steps) {
    if (jobs.at(step.step) >= jobs.at(best->step)) best = &step;
  }
  return *best;
}

std::pair<std::int32_t, std::int32_t> leastAndGreatest(const std::vector<StepSpan>& steps) {
  const auto [first, last] =
      std::minmax_element(steps.begin(), steps.end(),
                          [](const StepSpan& a, const StepSpan& b) { return a.step < b.step; });
  return {first->step, last->step};
}

/// "3", or "0 to 4", by the numbers of the steps.
std::string numbersOf(const std::vector<StepSpan>& steps) {
  const auto [first, last] = leastAndGreatest(steps);
  return steps.size() == 1 ? numberText(steps.front()) : fmt::format("{} to {}", first, last);
}

constexpr int kNarrowPicture = 900;
constexpr int kWidePicture = 8000;
constexpr int kJobWidth = 26;  // pixels of a short job, so that it has room for its number

int widthFor(const ChartModel& model, const Timeline::Span& range) {
  const Nanoseconds typical = std::max<Nanoseconds>(1, model.typicalJob());
  const double jobs = static_cast<double>(range.end - range.begin) / static_cast<double>(typical);
  return static_cast<int>(std::clamp(jobs * kJobWidth, 1.0 * kNarrowPicture, 1.0 * kWidePicture));
}

}  // namespace

ShownSteps::ShownSteps(const Timeline& timeline, const std::vector<NumberRange>& wanted)
    : all_(stepSpans(timeline)) {
  if (all_.empty()) throw Error("there is no step to draw: the run has no compute job");
  if (wanted.empty()) {
    shown_ = {lastComplete(countedSteps(all_), timeline)};
    return;
  }
  std::copy_if(all_.begin(), all_.end(), std::back_inserter(shown_),
               [&](const StepSpan& step) { return isIn(wanted, step.step); });
  if (!shown_.empty()) return;
  const auto [first, last] = leastAndGreatest(all_);
  throw Error(fmt::format("the run has no step {}; it has {} from {} to {}", wanted.front().begin,
                          all_.size(), first, last));
}

Timeline::Span ShownSteps::span() const {
  Timeline::Span span{shown_.front().begin, shown_.front().end};
  for (const StepSpan& step : shown_) span.end = std::max(span.end, step.end);
  return span;
}

std::vector<NumberRange> ShownSteps::numbers() const {
  std::vector<NumberRange> numbers;
  for (const StepSpan& step : shown_) numbers.push_back({step.step, step.step + 1});
  return numbers;
}

std::string ShownSteps::names() const {
  return (shown_.size() == 1 ? "step " : "steps ") + numbersOf(shown_) +
         (all_.size() == 1 ? ", the only one" : " of " + numbersOf(all_));
}

std::string ShownSteps::headline(const RunSummary& summary) const {
  const Timeline::Span time = span();
  std::string text = names() + ": " + formatDuration(time.end - time.begin);
  if (shown_.size() > 1) return text + ", bubble ratio " + ratioText(summary.bubbleRatio);
  for (const StepSummary& each : summary.steps) {
    text += ", bubble ratio " + ratioText(each.bubbleRatio);
    if (summary.steps.size() > 1) text += fmt::format(" (pipeline {})", each.replica);
  }
  return text;
}

std::string pictureOf(const Timeline& timeline, PictureOptions options, const Theme& theme) {
  const ChartModel model(timeline, theme);
  options.width = widthFor(model, options.range.value_or(model.span()));
  return renderSvg(model, options);
}

Picture pictureOfSteps(const Timeline& timeline, const RunSummary& summary,
                       const Selection& selection, const Theme& theme) {
  const ShownSteps steps(timeline, selection.steps);  // windows are those of the whole run
  const Selection anyStep{
      .steps = {}, .ranks = selection.ranks, .skippedTypes = selection.skippedTypes};
  const Timeline part = anyStep.isAll() ? Timeline() : selected(timeline, anyStep);
  const Timeline& drawn = anyStep.isAll() ? timeline : part;
  const RunSummary shown =
      selected(summary, {.steps = steps.numbers(), .ranks = selection.ranks, .skippedTypes = {}});
  const std::string caption = steps.headline(shown) + ", times from the start of the run";
  return {.svg = pictureOf(drawn, {.range = steps.span(), .caption = caption}, theme),
          .what = steps.names()};
}

}  // namespace pipetrace
