#include "chart/draw/chart_picture.h"

#include <algorithm>
#include <utility>

#include "chart/draw/draw_chart.h"
#include "chart/draw/text_width.h"
#include "trace/error.h"
#include "trace/text/number_text.h"
#include "trace/text/ranks_text.h"
#include "trace/topology.h"

namespace pipetrace {
namespace {

constexpr int kMargin = 16;
constexpr int kTitleHeight = 28;
constexpr int kCaptionHeight = 20;
constexpr int kGap = 8;
constexpr int kHighPicture = 1200;
constexpr RowHeights kCompactHeights{20, 0, 0, 4};
constexpr TextStyle kTitleStyle{18, true, {}, TextAlign::kLeft};
constexpr TextStyle kCaptionStyle{12, false, {}, TextAlign::kLeft};

bool hasOtherLanes(const ShownRows& shown) {
  return std::any_of(shown.rows.begin(), shown.rows.end(),
                     [](const ShownRow& row) { return row.kind >= RowKind::kLane; });
}

void checkSide(const char* what, int pixels, int smallest) {
  if (pixels >= smallest && pixels <= kMaxPictureSide) return;
  throw Error(std::string("a picture cannot be ") + std::to_string(pixels) + " pixels " + what +
              "; choose " + std::to_string(smallest) + " to " + std::to_string(kMaxPictureSide));
}

}  // namespace

std::string titleOf(const ChartModel& model) {
  std::string title;
  std::optional<int> microBatches;
  for (const auto& [rank, info] : model.timeline().ranks) {
    if (title.empty()) title = info.schedule;
    if (!microBatches) microBatches = info.numMicroBatches;
  }
  if (!title.empty()) title += ", ";
  title += countText(model.rankCount(), "rank");
  if (const auto map = statedStageRanks(model.timeline()); !map.empty()) {
    title += ", stages on ranks " + toText(map);
  }
  if (microBatches && *microBatches > 0) {
    title += ", " + countText(*microBatches, "micro-batch", "micro-batches");
  }
  return title;
}

int labelWidthOf(const ChartModel& model, const PictureOptions& options) {
  return rowLabelWidth(estimatedTextWidth,
                       shownRows(model.rowTree(options.rows.grouping), options.rows));
}

ChartPicture::ChartPicture(const ChartModel& model, PictureOptions options)
    : model_(model), options_(std::move(options)), legend_(model.legend()) {
  shown_ = shownRows(model_.rowTree(options_.rows.grouping), options_.rows);
  checkSide("wide", options_.width, kMinPictureWidth);
  if (options_.height) checkSide("high", *options_.height, 1);
  if (options_.title.empty()) options_.title = titleOf(model);
  if (!options_.showsClasses) legend_ = withoutClasses(std::move(legend_));
  breakLines(mostLines_);
  chooseHeights();
  layout_ = RowLayout(model_.rows(), shown_, heights_);
  if (heights_.lane == 0 && hasOtherLanes(shown_)) leaveOutLanes();
  height_ = options_.height.value_or(layout_.height() + headHeight() + kMargin);
}

void ChartPicture::breakLines(std::size_t most) {
  // Estimated widths, so that a picture has one layout whatever it is drawn on.
  const int inner = options_.width - 2 * kMargin;
  mostLines_ = most;
  title_ = wrapped(estimatedTextWidth, options_.title, kTitleStyle, inner, most);
  caption_ = wrapped(estimatedTextWidth, options_.caption, kCaptionStyle, inner, most);
}

std::string ChartPicture::captionWithNote() const {
  return options_.caption + (options_.caption.empty() ? "" : ", ") + "compute lanes only";
}

int ChartPicture::aroundRows() const {
  // Counts the lines of the note, which may be added later.
  const auto lines = wrapped(estimatedTextWidth, captionWithNote(), kCaptionStyle,
                             options_.width - 2 * kMargin, mostLines_);
  return headHeight() + kMargin + static_cast<int>(lines.size() - caption_.size()) * kCaptionHeight;
}

void ChartPicture::leaveOutLanes() {
  options_.caption = captionWithNote();
  breakLines(mostLines_);
  std::erase_if(legend_, [](const LegendEntry& entry) {
    return !isComputeLane(entry.kind) && entry.kind != JobKind::kBubble;
  });
}

int ChartPicture::headHeight() const {
  return kMargin + static_cast<int>(title_.size()) * kTitleHeight +
         static_cast<int>(caption_.size()) * kCaptionHeight + kGap +
         legendHeight(estimatedTextWidth, legend_, options_.width - 2 * kMargin) + kGap +
         kTimeAxisHeight;
}

void ChartPicture::chooseHeights() {
  const auto& rows = model_.rows();
  const int around = aroundRows();
  if (!options_.height) {
    if (RowLayout(rows, shown_, heights_).height() + around <= kHighPicture) return;
    const auto fitting = fittingHeights(rows, shown_, kHighPicture - around);
    heights_ = fitting && fitting->lane > 0 ? *fitting : kCompactHeights;
    if (RowLayout(rows, shown_, heights_).height() + around <= kMaxPictureSide) return;
  }
  const int available = options_.height.value_or(kMaxPictureSide) - around;
  const std::optional<RowHeights> fitting = fittingHeights(rows, shown_, available);
  if (!fitting && mostLines_ > 1) {  // rows matter more than the whole text
    breakLines(1);
    return chooseHeights();
  }
  if (!fitting) {
    throw Error("a picture of " + countText(model_.rankCount(), "rank") +
                " does not fit into a height of " + std::to_string(available + around) +
                " pixels; choose a greater height or fewer ranks");
  }
  heights_ = *fitting;
}

void ChartPicture::draw(Canvas& canvas) const {
  const Theme& theme = model_.theme();
  canvas.fill({0, 0, width(), height()}, theme.paper);
  const int inner = width() - 2 * kMargin;
  const int top = headHeight();
  int y = kMargin;
  const auto drawLines = [&](const std::vector<std::string>& lines, const TextStyle& style,
                             int height) {
    for (const std::string& line : lines) {
      canvas.text({kMargin, y, inner, height}, elided(canvas.measure(), line, style, inner), style);
      y += height;
    }
  };
  drawLines(title_, kTitleStyle.in(theme.ink), kTitleHeight);
  drawLines(caption_, kCaptionStyle.in(theme.faintInk), kCaptionHeight);
  y += kGap;
  drawLegend(canvas, legend_, model_.colors(), {kMargin, y, inner, top - kTimeAxisHeight - y});

  const int labels = std::max(rowLabelWidth(estimatedTextWidth, shown_), options_.leastLabels);
  const PixelRect area{kMargin + labels, top, width() - 2 * kMargin - labels,
                       height() - kMargin - top};
  const Timeline::Span range = options_.range.value_or(model_.span());
  const TimeAxis axis(range.begin, range.end, area.width);
  const ChartView view{model_, layout_, axis, area, 0, options_.showsClasses};
  drawTimeAxis(canvas, view, {area.x, top - kTimeAxisHeight, area.width, kTimeAxisHeight});
  drawRows(canvas, view);
  if (options_.overRows) {
    canvas.pushClip(view.area);
    options_.overRows(canvas, view);
    canvas.popClip();
  }
  drawRowLabels(canvas, view, {kMargin, top, labels, area.height});
}

}  // namespace pipetrace
