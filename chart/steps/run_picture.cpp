#include "chart/steps/run_picture.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include "chart/draw/draw_chart.h"
#include "chart/draw/text_width.h"
#include "chart/rows/shown_rows.h"
#include "trace/error.h"
#include "trace/text/decimal_time.h"
#include "trace/text/number_text.h"

namespace pipetrace {
namespace {

constexpr int kEdge = 16;
constexpr int kHeadline = 28;
constexpr int kCaptionLine = 20;
constexpr int kPartGap = 8;
constexpr int kStepLine = 18;
constexpr int kDurations = 56;
constexpr int kRatioLine = 16;
constexpr int kAllRanks = 38;
constexpr int kRatioWidth = 80;      // of the column of bubble ratios at the right
constexpr int kLeastColumn = 4;      // pixels
constexpr int kSeparateColumns = 8;  // least width of a column that leaves a pixel before the next
constexpr int kUsualRow = 26;
constexpr int kLeastRow = 6;
constexpr int kTallPicture = 1200;
constexpr int kSmallLabel = 11;
constexpr TextStyle kHeadlineStyle{18, true, {}, TextAlign::kLeft};
constexpr TextStyle kNoteStyle{12, false, {}, TextAlign::kLeft};
constexpr TextStyle kRowStyle{12, true, {}, TextAlign::kLeft};
constexpr TextStyle kSmallStyle{11, false, {}, TextAlign::kLeft};
constexpr TextStyle kNumberStyle{11, false, {}, TextAlign::kRight};

/// Idle time from the top of a cell down: causes, what is not known, the schedule's own.
constexpr std::array<BubbleClass, kBubbleClassCount> classesFromTheTop() {
  std::array<BubbleClass, kBubbleClassCount> classes{};
  std::size_t at = 0;
  for (int i = kBubbleClassCount - 1; i >= static_cast<int>(kFirstCause); --i) {
    const auto cause = static_cast<BubbleClass>(i);
    if (cause != BubbleClass::kUnknown) classes[at++] = cause;
  }
  classes[at++] = BubbleClass::kUnknown;
  classes[at++] = BubbleClass::kNone;
  for (int i = static_cast<int>(kFirstCause) - 1; i > 0; --i) {
    classes[at++] = static_cast<BubbleClass>(i);
  }
  return classes;
}
constexpr std::array kFromTheTop = classesFromTheTop();

std::string percent(double share, int digits) { return fixedText(share * 100, digits) + " %"; }

std::string rankName(int rank) { return "rank " + std::to_string(rank); }

/// The least of 1, 2, 5, 10, 20, … that is at least `least`.
std::size_t roundNumber(std::size_t least) {
  std::size_t n = 1;
  for (int i = 0; n < least; ++i) n = i % 3 == 1 ? n / 2 * 5 : n * 2;
  return n;
}

/// The name of a column: its first step.
std::string nameOf(const StepGrid::Column& column) { return std::to_string(column.first); }

/// The indices of the ranks that a state of the rows shows, in its order. A rank in a folded row is
/// shown.
std::vector<std::size_t> linesOf(const std::vector<int>& ranks, const ChartModel& model,
                                 const RowState& state) {
  std::vector<std::size_t> lines(ranks.size());
  std::iota(lines.begin(), lines.end(), 0);
  if (state == RowState()) return lines;
  const ShownRows shown = shownRows(model.rowTree(state.grouping), state);
  std::map<int, std::size_t> places;
  for (std::size_t row = 0; row < model.rows().size(); ++row) {
    if (!model.rows()[row].isCompute || shown.shownAs[row] == RowNode::kNone) continue;
    places.try_emplace(model.rows()[row].rank, shown.shownAs[row]);
  }
  std::erase_if(lines, [&](std::size_t line) { return !places.contains(ranks[line]); });
  std::stable_sort(lines.begin(), lines.end(), [&](std::size_t a, std::size_t b) {
    return places.at(ranks[a]) < places.at(ranks[b]);
  });
  return lines;
}

void refuse(const char* what, int pixels, int smallest) {
  throw Error(std::string("a picture cannot be ") + std::to_string(pixels) + " pixels " + what +
              "; choose " + std::to_string(smallest) + " to " + std::to_string(kMaxPictureSide));
}

}  // namespace

bool RunPicture::isBetterFor(const ChartModel& model, int width) {
  const auto steps = static_cast<std::int64_t>(model.steps().size());
  return steps > 1 && width / steps < kLegibleStep;
}

RunPicture::RunPicture(const ChartModel& model, PictureOptions options)
    : model_(model), options_(std::move(options)), legend_(model.legend()) {
  if (width() < kMinPictureWidth || width() > kMaxPictureSide) {
    refuse("wide", width(), kMinPictureWidth);
  }
  if (options_.height && (*options_.height < 1 || *options_.height > kMaxPictureSide)) {
    refuse("high", *options_.height, 1);
  }
  if (options_.title.empty()) options_.title = titleOf(model);
  if (!options_.showsClasses) legend_ = withoutClasses(std::move(legend_));
  labelWidth_ = 8 + estimatedTextWidth("bubble ratio", kRowStyle);
  const int room = std::max(width() - 2 * kEdge - labelWidth_ - kRatioWidth, kLeastColumn);
  const std::size_t most = static_cast<std::size_t>(room / kLeastColumn);
  const std::size_t together = roundNumber((model.steps().size() + most - 1) / most);
  grid_ = stepGridOf(model.timeline(), static_cast<int>(together));
  lines_ = linesOf(grid_.ranks, model, options_.rows);
  // Legend and cells know the work and the idle time, no more.
  std::erase_if(legend_, [](const LegendEntry& entry) {
    return !isCompute(entry.kind) && entry.kind != JobKind::kBubble;
  });
  const std::string columns = together == 1
                                  ? "a column is a step"
                                  : "a column is " + std::to_string(together) +
                                        " steps (light: the longest of them, dark: their mean)";
  const std::size_t notShown = grid_.ranks.size() - lines_.size();
  std::string note =
      options_.caption + (options_.caption.empty() ? "" : "; ") + columns +
      "; in it, from below, the work of the rank by kind, from above its idle time by cause";
  if (countedSteps(model.steps()).size() < model.steps().size()) {
    note += "; steps of other phases have no column";
  }
  if (notShown > 0) {
    note += "; " + countText(notShown, "rank has", "ranks have") + " no line";
  }
  caption_ = wrapped(estimatedTextWidth, note, kNoteStyle, width() - 2 * kEdge, 3);
  chooseRowHeight();
}

int RunPicture::headHeight() const {
  return kEdge + kHeadline + static_cast<int>(caption_.size()) * kCaptionLine + kPartGap +
         legendHeight(estimatedTextWidth, legend_, width() - 2 * kEdge) + kPartGap + kStepLine +
         kDurations + kRatioLine + kAllRanks + 2 * kPartGap;
}

void RunPicture::chooseRowHeight() {
  const int around = headHeight() + kEdge;
  const int count = std::max(static_cast<int>(lines_.size()), 1);
  const int room = options_.height.value_or(kTallPicture) - around;
  const int each = room / count;
  const auto gapOf = [](int height) { return height >= 12 ? 3 : height >= 6 ? 1 : 0; };
  if (options_.height) {
    if (each < 2) {
      throw Error("a picture of " + std::to_string(count) +
                  " ranks does not fit into a height of " + std::to_string(*options_.height) +
                  " pixels; choose at least " + std::to_string(around + 2 * count));
    }
    rowHeight_ = std::min(each, 3 * kUsualRow);
  } else {
    rowHeight_ = std::clamp(each, kLeastRow, kUsualRow + 3);
    if (around + rowHeight_ * count > kMaxPictureSide) {
      rowHeight_ = std::max((kMaxPictureSide - around) / count, 2);
    }
  }
  rowGap_ = gapOf(rowHeight_);
  rowHeight_ -= rowGap_;
  height_ = options_.height.value_or(around + (rowHeight_ + rowGap_) * count);
  if (height_ > kMaxPictureSide) refuse("high", height_, 1);
}

int RunPicture::left(std::size_t column) const {
  const std::int64_t room = width() - 2 * kEdge - labelWidth_ - kRatioWidth;
  return kEdge + labelWidth_ +
         static_cast<int>(
             room * static_cast<std::int64_t>(column) /
             static_cast<std::int64_t>(std::max<std::size_t>(grid_.columns.size(), 1)));
}

PixelRect RunPicture::columnRect(std::size_t column, int top, int height) const {
  const int from = left(column);
  const int wide = left(column + 1) - from;
  return {from, top, wide >= kSeparateColumns ? wide - 1 : wide, height};
}

PixelRect RunPicture::cellOf(std::size_t column, std::size_t line) const {
  const int top = headHeight() + static_cast<int>(line) * (rowHeight_ + rowGap_);
  return columnRect(column, top, rowHeight_);
}

void RunPicture::drawHead(Canvas& canvas) const {
  const int inner = width() - 2 * kEdge;
  int y = kEdge;
  canvas.text({kEdge, y, inner, kHeadline},
              elided(canvas.measure(), options_.title, kHeadlineStyle.in(theme().ink), inner),
              kHeadlineStyle.in(theme().ink));
  y += kHeadline;
  for (const std::string& line : caption_) {
    canvas.text({kEdge, y, inner, kCaptionLine},
                elided(canvas.measure(), line, kNoteStyle.in(theme().faintInk), inner),
                kNoteStyle.in(theme().faintInk));
    y += kCaptionLine;
  }
  y += kPartGap;
  const int height = legendHeight(estimatedTextWidth, legend_, inner);
  drawLegend(canvas, legend_, model_.colors(), {kEdge, y, inner, height});
}

void RunPicture::drawSteps(Canvas& canvas, int top) const {
  canvas.text({kEdge, top, labelWidth_, kStepLine}, "step", kSmallStyle.in(theme().faintInk));
  int widest = 1;
  for (const StepGrid::Column& column : grid_.columns) {
    widest =
        std::max(widest, canvas.textWidth(nameOf(column), kSmallStyle.in(theme().faintInk)) + 10);
  }
  const std::size_t count = grid_.columns.size();
  const int room = std::max(left(count) - left(0), 1);
  const std::size_t each =
      roundNumber((static_cast<std::size_t>(widest) * count + static_cast<std::size_t>(room) - 1) /
                  static_cast<std::size_t>(room));
  for (std::size_t i = 0; i < count; i += each) {
    const PixelRect below = columnRect(i, top, kStepLine);
    const std::string text = nameOf(grid_.columns[i]);
    const int wide = canvas.textWidth(text, kSmallStyle.in(theme().faintInk));
    TextStyle style = kSmallStyle.in(theme().faintInk);
    style.align = TextAlign::kCenter;
    const int x = std::clamp(below.x + below.width / 2 - wide / 2, left(0),
                             std::max(left(count) - wide, left(0)));
    canvas.text({x, top, wide, kStepLine}, text, style);
  }
}

void RunPicture::drawDurations(Canvas& canvas, PixelRect strip) const {
  Nanoseconds longest = 1;
  for (const StepGrid::Column& column : grid_.columns) longest = std::max(longest, column.longest);
  canvas.text({kEdge, strip.y, labelWidth_, 14}, "step time", kRowStyle.in(theme().ink));
  canvas.text({kEdge, strip.y + 15, labelWidth_ - 6, 14}, "up to",
              kSmallStyle.in(theme().faintInk));
  canvas.text({kEdge, strip.y + 29, labelWidth_ - 6, 14}, formatDuration(longest),
              kSmallStyle.in(theme().faintInk));
  const auto heightOf = [&](double duration) {
    return static_cast<int>(
        std::lround(duration / static_cast<double>(longest) * (strip.height - 4)));
  };
  const Color dark = mix(theme().faintInk, theme().paper, 70);
  const Color light = mix(theme().faintInk, theme().paper, 170);
  for (std::size_t i = 0; i < grid_.columns.size(); ++i) {
    const StepGrid::Column& column = grid_.columns[i];
    const auto bar = [&](double duration, Color color) {
      const int high = heightOf(duration);
      canvas.fill(columnRect(i, strip.bottom() - high, high), color);
    };
    if (column.steps > 1) bar(static_cast<double>(column.longest), light);
    bar(column.steps > 1 ? column.meanDuration : static_cast<double>(column.longest), dark);
  }
  canvas.fill({strip.x, strip.bottom(), strip.width, 1}, theme().stepLine);
}

void RunPicture::drawRatios(Canvas& canvas, int top) const {
  TextStyle heading = kSmallStyle.in(theme().faintInk);
  heading.align = TextAlign::kRight;
  canvas.text({left(grid_.columns.size()), top, kRatioWidth, kRatioLine}, "bubble ratio", heading);
  TextStyle style = kSmallStyle.in(theme().faintInk);
  style.align = TextAlign::kCenter;
  style.color = theme().ink;
  const int widest = canvas.textWidth("100 %", style) + 2;
  if (grid_.columns.empty() || columnRect(0, top, 0).width < widest) return;
  canvas.text({kEdge, top, labelWidth_, kRatioLine}, "bubble ratio",
              kSmallStyle.in(theme().faintInk));
  for (std::size_t i = 0; i < grid_.columns.size(); ++i) {
    const PixelRect below = columnRect(i, top, kRatioLine);
    canvas.text(below, percent(grid_.columns[i].all.bubbleRatio(), 0), style);
  }
}

void RunPicture::drawShares(Canvas& canvas, const StepShares& shares, PixelRect cell) const {
  if (shares.window <= 0 || cell.width <= 0) return;
  const auto heightOf = [&](Nanoseconds time) {
    return static_cast<int>(
        std::lround(static_cast<double>(time) / static_cast<double>(shares.window) * cell.height));
  };
  // Edges, not heights, are rounded: no part is off by more than a pixel, and none is left over.
  Nanoseconds below = 0;
  for (std::size_t i = 0; i < shares.busy.size(); ++i) {
    if (shares.busy[i] == 0) continue;
    const int from = heightOf(below);
    below += shares.busy[i];
    const int to = heightOf(below);
    canvas.fill({cell.x, cell.bottom() - to, cell.width, to - from},
                model_.colors().of({.kind = static_cast<JobKind>(i)}));
  }
  Nanoseconds above = 0;
  for (const BubbleClass cause : kFromTheTop) {
    const Nanoseconds idle = shares.idle[static_cast<std::size_t>(cause)];
    if (idle == 0) continue;
    const int from = heightOf(shares.window) - heightOf(shares.window - above);
    above += idle;
    const int to = cell.height - heightOf(shares.window - above);
    const PixelRect part{cell.x, cell.y + from, cell.width, to - from};
    canvas.fill(part, theme().tintOf(options_.showsClasses ? cause : BubbleClass::kNone));
  }
}

void RunPicture::drawRatioOf(Canvas& canvas, const StepShares& shares, int top, int height) const {
  canvas.text({left(grid_.columns.size()) + 4, top, kRatioWidth - 4, height},
              percent(shares.bubbleRatio(), 1), kNumberStyle.in(theme().ink));
}

void RunPicture::drawRanks(Canvas& canvas) const {
  int freeFrom = 0;
  for (std::size_t line = 0; line < lines_.size(); ++line) {
    const std::size_t rank = lines_[line];
    StepShares ofRun;
    for (std::size_t i = 0; i < grid_.columns.size(); ++i) {
      drawShares(canvas, grid_.columns[i].ranks[rank], cellOf(i, line));
      ofRun += grid_.columns[i].ranks[rank];
    }
    const PixelRect row = cellOf(0, line);
    const int top = row.y + (row.height - kSmallLabel) / 2;
    if (top < freeFrom) continue;  // rows are lower than labels: some have none
    freeFrom = top + kSmallLabel + 1;
    TextStyle style = kRowStyle.in(theme().ink);
    style.size = kSmallLabel;
    canvas.text({kEdge, top, labelWidth_ - 6, kSmallLabel},
                elided(canvas.measure(), rankName(grid_.ranks[rank]), style, labelWidth_ - 6),
                style);
    drawRatioOf(canvas, ofRun, top, kSmallLabel);
  }
}

void RunPicture::draw(Canvas& canvas) const {
  canvas.fill({0, 0, width(), height()}, theme().paper);
  drawHead(canvas);
  int y = headHeight() - 2 * kPartGap - kAllRanks - kRatioLine - kDurations - kStepLine;
  drawSteps(canvas, y);
  y += kStepLine;
  const std::size_t count = grid_.columns.size();
  drawDurations(canvas, {left(0), y, left(count) - left(0), kDurations - 2});
  y += kDurations;
  drawRatios(canvas, y);
  y += kRatioLine;
  canvas.text({kEdge, y, labelWidth_, kAllRanks}, "all ranks", kRowStyle.in(theme().ink));
  StepShares ofRun;
  for (std::size_t i = 0; i < count; ++i) {
    drawShares(canvas, grid_.columns[i].all, columnRect(i, y, kAllRanks));
    ofRun += grid_.columns[i].all;
  }
  drawRatioOf(canvas, ofRun, y, kAllRanks);
  drawRanks(canvas);
}

}  // namespace pipetrace
