#include "apps/pipe_trace/outputs/picture.h"

#include <algorithm>
#include <utility>

#include "apps/pipe_trace/outputs/shown_steps.h"
#include "chart/chart_model.h"
#include "chart/draw/svg_writer.h"

namespace pipetrace {
namespace {

constexpr int kNarrowPicture = 900;
constexpr int kWidePicture = 8000;
constexpr int kJobWidth = 26;  // pixels of a short job, so that it has room for its number

int widthFor(const ChartModel& model, const Timeline::Span& range) {
  const Nanoseconds typical = std::max<Nanoseconds>(1, model.typicalJob());
  const double jobs = static_cast<double>(range.end - range.begin) / static_cast<double>(typical);
  return static_cast<int>(std::clamp(jobs * kJobWidth, 1.0 * kNarrowPicture, 1.0 * kWidePicture));
}

}  // namespace

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
