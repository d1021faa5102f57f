#include "viewer/causes/causes_overlay.h"

#include "chart/links/draw_links.h"
#include "chart/links/link_colors.h"
#include "viewer/paint/qt_canvas.h"

namespace pipetrace {
namespace {

/// Finds the slack of jobs that come row by row in the order of time.
class SlackFinder {
 public:
  explicit SlackFinder(const GraphPlaces& places) : places_(places) {}

  Nanoseconds operator()(std::size_t row, const Event& job) {
    const JobGraph& graph = places_.graph();
    const bool isNext = next_ < graph.jobCount() && graph.node(next_).event == &job;
    const JobGraph::Id id = isNext ? next_ : places_.nodeOf({row, &job});
    if (id == JobGraph::kNone) return -1;
    next_ = id + 1;
    return places_.slackOf(id);
  }

 private:
  const GraphPlaces& places_;
  JobGraph::Id next_ = 0;
};

void drawNote(Canvas& canvas, const ChartView& view, std::string_view text) {
  const LinkColors colors = linkColorsOf(view.model);
  const PixelRect& area = view.area;
  const TextStyle style{12, false, colors.ink, TextAlign::kCenter};
  const int width = canvas.textWidth(text, style) + 20;
  const PixelRect box{area.x + (area.width - width) / 2, area.y + 8, width, 22};
  canvas.fill({box.x - 1, box.y - 1, box.width + 2, box.height + 2}, colors.edge);
  canvas.fill(box, colors.paper);
  canvas.text(box, text, style);
}

}  // namespace

void CausesOverlay::paint(QPainter& painter, const ChartView& view) {
  if (!causes_) return;
  QtCanvas canvas(painter, fonts_);
  if (causes_->isPathShown()) paintPath(canvas, view);
  drawLinks(canvas, view, causes_->links());
}

void CausesOverlay::paintPath(Canvas& canvas, const ChartView& view) {
  const GraphPlaces* places = causes_->places();
  if (places == nullptr) return;
  constexpr const char* kTooMany = "Zoom in to see the critical paths: too many steps are in view";
  if (causes_->areTooMany(view)) return drawNote(canvas, view, kTooMany);
  SlackFinder finder(*places);
  drawSlack(canvas, view, std::ref(finder));
  const std::vector<const ChartPath*> paths = causes_->pathsIn(view);
  if (!drawCriticalPath(canvas, view, paths)) drawNote(canvas, view, kTooMany);
}

}  // namespace pipetrace
