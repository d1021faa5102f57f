#include <algorithm>
#include <string>

#include "chart/lane_piece.h"
#include "chart/links/draw_path.h"
#include "chart/links/link_colors.h"
#include "trace/text/decimal_time.h"

namespace pipetrace {
namespace {

constexpr int kLeastWidth = 6;    // of a job that gets paler
constexpr double kPalest = 0.72;  // opacity of the veil over a job with endless slack
constexpr int kNamedFrom = 30;    // least height of a row in which jobs name their slack

class SlackPainter {
 public:
  SlackPainter(Canvas& canvas, const ChartView& view, const SlackOf& slackOf)
      : canvas_(canvas),
        view_(view),
        slackOf_(slackOf),
        colors_(linkColorsOf(view.model)),
        style_{9, false, colors_.ink, TextAlign::kCenter} {}

  void paint(std::size_t row) {
    const ChartRow& lanes = view_.model.rows()[row];
    for (std::size_t i = 0; i < lanes.lanes.size(); ++i) {
      pieces_.clear();
      cutIntoPieces(lanes.lanes[i], view_.axis, pieces_);
      const RowPlace place = RowLayout::subLane(view_.layout[row], i, lanes.lanes.size());
      for (const LanePiece& piece : pieces_) {
        if (piece.isColumn || piece.right - piece.left < kLeastWidth) continue;
        const Event& job = lanes.lanes[i][piece.first];
        if (isCompute(job.kind)) veil(slackOf_(row, job), piece, place);
      }
    }
  }

 private:
  void veil(Nanoseconds slack, const LanePiece& piece, const RowPlace& place) {
    if (slack <= 0) return;
    const int left = std::max(piece.left, 0);
    const int right = std::min(piece.right, view_.area.width) - 1;
    if (right <= left) return;
    const auto usual = static_cast<double>(std::max<Nanoseconds>(view_.model.typicalJob(), 1));
    const auto time = static_cast<double>(slack);
    const PixelRect rect{view_.area.x + left, view_.yOf(place.top), right - left, place.height};
    canvas_.veil(rect, colors_.paper, kPalest * time / (time + usual));
    if (rect.height < kNamedFrom) return;
    const std::string text = "slack " + formatDuration(slack);
    if (canvas_.textWidth(text, style_) + 6 > rect.width) return;
    canvas_.text({rect.x, rect.bottom() - 14, rect.width, 12}, text, style_);
  }

  Canvas& canvas_;
  const ChartView& view_;
  const SlackOf& slackOf_;
  LinkColors colors_;
  TextStyle style_;
  std::vector<LanePiece> pieces_;
};

}  // namespace

void drawSlack(Canvas& canvas, const ChartView& view, const SlackOf& slackOf) {
  canvas.pushClip(view.area);
  SlackPainter painter(canvas, view, slackOf);
  for (std::size_t row = 0; row < view.layout.size(); ++row) {
    const RowPlace place = view.layout[row];
    const int top = view.yOf(place.top);
    const bool isInView = top < view.area.bottom() && top + place.height > view.area.y;
    if (place.height > 0 && isInView && view.model.rows()[row].isCompute) painter.paint(row);
  }
  canvas.popClip();
}

}  // namespace pipetrace
