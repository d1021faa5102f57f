#include "viewer/export/two_runs_picture.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "chart/draw/text_width.h"
#include "chart/steps/run_picture.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

constexpr int kMargin = 16;
constexpr int kLine = 24;  // pixels, of the answer on top
constexpr std::size_t kMostLines = 4;
constexpr TextStyle kAnswerStyle{15, true, {}, TextAlign::kLeft};

/// Draws what is drawn on it lower down on another canvas.
class LowerCanvas final : public Canvas {
 public:
  LowerCanvas(Canvas& on, int by) : on_(on), by_(by) {}

  void fill(PixelRect rect, Color color) override { on_.fill(lower(rect), color); }
  void hatch(PixelRect rect, const Hatching& hatching) override {
    on_.hatch(lower(rect), hatching);
  }
  void columns(int top, int height, ColumnEdge edge, std::span<const Column> columns) override {
    on_.columns(top + by_, height, edge, columns);
  }
  void text(PixelRect box, std::string_view text, const TextStyle& style) override {
    on_.text(lower(box), text, style);
  }
  int textWidth(std::string_view text, const TextStyle& style) override {
    return on_.textWidth(text, style);
  }
  void line(std::span<const PixelPoint> points, const Stroke& stroke) override {
    on_.line(lower(points), stroke);
  }
  void curve(const std::array<PixelPoint, 4>& points, const Stroke& stroke) override {
    std::array<PixelPoint, 4> moved = points;
    for (PixelPoint& point : moved) point.y += by_;
    on_.curve(moved, stroke);
  }
  void polygon(std::span<const PixelPoint> corners, Color color) override {
    on_.polygon(lower(corners), color);
  }
  void veil(PixelRect rect, Color color, double opacity) override {
    on_.veil(lower(rect), color, opacity);
  }
  void pushClip(PixelRect rect) override { on_.pushClip(lower(rect)); }
  void popClip() override { on_.popClip(); }

 private:
  PixelRect lower(PixelRect rect) const { return {rect.x, rect.y + by_, rect.width, rect.height}; }
  std::vector<PixelPoint> lower(std::span<const PixelPoint> points) const {
    std::vector<PixelPoint> moved(points.begin(), points.end());
    for (PixelPoint& point : moved) point.y += by_;
    return moved;
  }

  Canvas& on_;
  int by_;
};

class BothRuns final : public Drawing {
 public:
  BothRuns(const Theme& theme, std::vector<std::string> answer, std::unique_ptr<Drawing> above,
           std::unique_ptr<Drawing> below)
      : theme_(theme),
        answer_(std::move(answer)),
        above_(std::move(above)),
        below_(std::move(below)) {}

  int width() const override { return above_->width(); }
  int height() const override { return head() + above_->height() + below_->height(); }
  int head() const {
    return answer_.empty() ? 0 : kMargin + static_cast<int>(answer_.size()) * kLine;
  }
  void draw(Canvas& canvas) const override {
    canvas.fill({0, 0, width(), head()}, theme_.paper);
    int y = kMargin;
    for (const std::string& line : answer_) {
      const TextStyle style = kAnswerStyle.in(theme_.ink);
      const int inner = width() - 2 * kMargin;
      canvas.text({kMargin, y, inner, kLine}, elided(canvas.measure(), line, style, inner), style);
      y += kLine;
    }
    LowerCanvas upper(canvas, head());
    above_->draw(upper);
    LowerCanvas lower(canvas, head() + above_->height());
    below_->draw(lower);
  }

 private:
  Theme theme_;
  std::vector<std::string> answer_;
  std::unique_ptr<Drawing> above_;
  std::unique_ptr<Drawing> below_;
};

/// The options for a run alone.
ExportOptions alone(const LoadedProfile& profile, const ExportOptions& options, bool isSecond) {
  ExportOptions of = options;
  of.second = {};
  if (isSecond) of.marks.clear();         // they are of the first
  if (isSecond && options.explanation) {  // that of a window, which has none of its second run
    of.explanation = nullptr;
    of.showsCriticalPath = false;
  }
  if (isSecond && of.time) {
    const Nanoseconds later = options.second.later.value_or(0);
    of.time = Timeline::Span{of.time->begin + later, of.time->end + later};
  }
  const bool isChosen = of.steps || of.isAll || of.time;
  const auto median = isChosen ? std::nullopt : medianStep(profile.model().steps());
  if (median) of.steps = StepChoice{median->step, median->step};
  return of;
}

std::unique_ptr<Drawing> drawn(const LoadedProfile& profile, bool isStepByStep,
                               PictureOptions picture) {
  if (isStepByStep) return std::make_unique<RunPicture>(profile.model(), std::move(picture));
  return std::make_unique<ChartPicture>(profile.model(), std::move(picture));
}

}  // namespace

std::unique_ptr<Drawing> bothRuns(const LoadedProfile& a, const ExportOptions& options) {
  const LoadedProfile& b = *options.second.profile;
  const ExportOptions ofA = alone(a, options, false);
  const ExportOptions ofB = alone(b, options, true);
  PictureOptions above = pictureOf(a, ofA);
  PictureOptions below = pictureOf(b, ofB);
  const std::vector<std::string> answer =
      options.second.answer.empty() ? std::vector<std::string>()
                                    : wrapped(estimatedTextWidth, options.second.answer,
                                              kAnswerStyle, above.width - 2 * kMargin, kMostLines);
  if (options.height) {
    const int head = answer.empty() ? 0 : kMargin + static_cast<int>(answer.size()) * kLine;
    above.height = (*options.height - head) / 2;
    below.height = *options.height - head - *above.height;
  }
  above.title = "A  " + above.title;
  below.title = "B  " + below.title;
  above.caption = a.name() + (above.caption.empty() ? "" : ": ") + above.caption;
  below.caption = b.name() + (below.caption.empty() ? "" : ": ") + below.caption;
  above.leastLabels = below.leastLabels =
      std::max(labelWidthOf(a.model(), above), labelWidthOf(b.model(), below));
  const bool isStepByStepA = isStepByStep(a, ofA);
  const bool isStepByStepB = isStepByStep(b, ofB);
  if (!isStepByStepA && !isStepByStepB) {
    const Timeline::Span timeOfA = above.range.value_or(a.model().span());
    const Timeline::Span timeOfB = below.range.value_or(b.model().span());
    const Nanoseconds longest = std::max(timeOfA.end - timeOfA.begin, timeOfB.end - timeOfB.begin);
    above.range = Timeline::Span{timeOfA.begin, timeOfA.begin + longest};
    below.range = Timeline::Span{timeOfB.begin, timeOfB.begin + longest};
  }
  return std::make_unique<BothRuns>(a.model().theme(), answer,
                                    drawn(a, isStepByStepA, std::move(above)),
                                    drawn(b, isStepByStepB, std::move(below)));
}

}  // namespace pipetrace
