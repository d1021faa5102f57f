#include <algorithm>
#include <string>
#include <vector>

#include "chart/draw/draw_chart.h"
#include "chart/time_ticks.h"

namespace pipetrace {
namespace {

constexpr int kStepBand = 19;
constexpr int kTickMark = 5;
constexpr int kStepGap = 12;
constexpr int kTextGap = 12;
constexpr int kShadedFrom = 12;       // least width of a step with a shade
constexpr int kSlowerBy = 10;         // a slow step is longer than the median by a tenth or more
constexpr Color kSlow{240, 160, 50};  // what tints the paper there
constexpr TextStyle kTimeStyle{11, false, {}, TextAlign::kCenter};
constexpr TextStyle kStepStyle{11, true, {}, TextAlign::kCenter};

/// The first step that may be visible: the last one that begins before the view.
std::size_t firstStepInView(const std::vector<StepSpan>& steps, Nanoseconds begin) {
  const auto after = std::partition_point(steps.begin(), steps.end(),
                                          [begin](const StepSpan& s) { return s.begin <= begin; });
  return after == steps.begin() ? 0 : static_cast<std::size_t>(after - steps.begin()) - 1;
}

/// The height of the grid lines, which end where the rows do.
int gridHeight(const ChartView& view) {
  return std::clamp(view.layout.height() - view.scrollY, 0, view.area.height);
}

/// Draws the steps in view and their labels. Each step has a label in the middle of its span. Where
/// steps are too narrow, only every tenth or so has one, at its begin.
class StepBand {
 public:
  StepBand(Canvas& canvas, const ChartView& view, PixelRect box)
      : canvas_(canvas),
        view_(view),
        theme_(view.model.theme()),
        box_(box),
        steps_(view.model.steps()) {
    first_ = firstStepInView(steps_, view.axis.begin());
    last_ = first_;
    while (last_ < steps_.size() && steps_[last_].begin < view.axis.end()) {
      largest_ = std::max(largest_, steps_[last_].step);
      ++last_;
    }
  }

  void draw() {
    if (first_ == last_) return;
    shade();
    const int width = std::max(right(last_ - 1) - view_.xOf(steps_[first_].begin), 1);
    const auto count = static_cast<int>(last_ - first_);
    const std::string largest = std::to_string(largest_);
    const int wordWidth = canvas_.textWidth("step " + largest, kStepStyle) + kStepGap;
    const int numberWidth = canvas_.textWidth(largest, kStepStyle) + kStepGap;
    if (width / count >= numberWidth) {
      drawEach(width / count >= wordWidth ? "step " : "");
    } else {
      drawSome(static_cast<std::int64_t>(wordWidth) * count / width + 1);
    }
  }

 private:
  int right(std::size_t i) const {
    return view_.xOf(i + 1 < steps_.size() ? steps_[i + 1].begin : steps_[i].end);
  }

  /// Shades every other step, and tints those that take clearly longer than a median step.
  void shade() {
    const Nanoseconds median = view_.model.medianStep();
    int free = view_.area.x;  // the first pixel without a tint
    for (std::size_t i = first_; i < last_; ++i) {
      const int left = std::max(view_.xOf(steps_[i].begin), free);
      const int end = std::min(std::max(view_.xOf(steps_[i].end), left + 1), view_.area.right());
      if (left >= end) continue;
      const bool isSlow = steps_.size() > 2 && steps_[i].phase == view_.model.countedPhase() &&
                          steps_[i].end - steps_[i].begin > median + median / kSlowerBy;
      if (!isSlow && (i % 2 == 0 || end - left < kShadedFrom)) continue;
      canvas_.fill({left, box_.y, end - left, kStepBand},
                   isSlow ? mix(theme_.paper, kSlow, 110) : mix(theme_.paper, theme_.grid, 180));
      free = end;
    }
  }

  void drawLine(int x, PixelRect across) {
    if (x >= view_.area.x) canvas_.fill({x, across.y, 1, across.height}, theme_.stepLine);
  }

  void drawEach(const std::string& word) {
    for (std::size_t i = first_; i < last_; ++i) {
      const int left = view_.xOf(steps_[i].begin);
      drawLine(left, {0, box_.y, 0, kStepBand});  // not across the times
      drawLine(left, {0, view_.area.y, 0, gridHeight(view_)});
      const int from = std::max(left, view_.area.x);
      const int to = std::min(right(i), view_.area.right());
      std::string label = word + numberText(steps_[i]);
      if (canvas_.textWidth(label, kStepStyle) > to - from) {
        label = word + std::to_string(steps_[i].step);  // without its phase
        if (canvas_.textWidth(label, kStepStyle) > to - from) continue;
      }
      canvas_.text({from, box_.y, to - from, kStepBand}, label, kStepStyle.in(theme_.ink));
    }
  }

  /// Draws every n-th label, where n is 1, 2 or 5 times a power of ten and at least `least`.
  void drawSome(std::int64_t least) {
    std::int64_t n = 1;
    for (int i = 0; n < least; ++i) n = i % 3 == 1 ? n / 2 * 5 : n * 2;
    int freeFrom = box_.x;
    for (std::size_t i = first_; i < last_; ++i) {
      const int left = view_.xOf(steps_[i].begin);
      if (steps_[i].step % n != 0 || left < freeFrom) continue;
      const std::string label = "step " + numberText(steps_[i]);
      TextStyle style = kStepStyle.in(theme_.ink);
      style.align = TextAlign::kLeft;
      const int width = canvas_.textWidth(label, style);
      if (left + 4 + width > box_.right()) break;
      drawLine(left, {0, box_.y, 0, kStepBand});
      canvas_.text({left + 4, box_.y, width, kStepBand}, label, style);
      freeFrom = left + 4 + width + 4;
    }
  }

  Canvas& canvas_;
  const ChartView& view_;
  const Theme& theme_;
  PixelRect box_;
  const std::vector<StepSpan>& steps_;
  std::size_t first_ = 0;
  std::size_t last_ = 0;
  std::int32_t largest_ = 0;
};

}  // namespace

void drawTimeAxis(Canvas& canvas, const ChartView& view, PixelRect box) {
  const Theme& theme = view.model.theme();
  canvas.fill(box, theme.paper);
  canvas.pushClip({box.x, box.y, box.width, view.area.bottom() - box.y});
  const auto ticks = timeTicks(
      view.axis, view.model.span().begin,
      [&](std::string_view text) { return canvas.textWidth(text, kTimeStyle); }, kTextGap);
  const int baseline = box.bottom() - 1;
  for (const Tick& tick : ticks) {
    const int x = box.x + tick.x;
    canvas.fill({x, view.area.y, 1, gridHeight(view)}, theme.grid);
    canvas.fill({x, baseline - kTickMark, 1, kTickMark}, theme.stepLine);
    const int half = canvas.textWidth(tick.label, kTimeStyle) / 2 + 1;
    canvas.text({x - half, box.y + kStepBand, 2 * half, box.height - kStepBand - kTickMark - 1},
                tick.label, kTimeStyle.in(theme.faintInk));
  }
  StepBand(canvas, view, box).draw();
  canvas.fill({box.x, baseline, box.width, 1}, theme.stepLine);
  canvas.popClip();
}

}  // namespace pipetrace
