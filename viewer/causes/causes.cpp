#include "viewer/causes/causes.h"

#include <QPointer>
#include <algorithm>
#include <utility>

#include "chart/links/draw_links.h"
#include "chart/links/link_colors.h"
#include "viewer/chart/chart_overlay.h"
#include "viewer/paint/qt_canvas.h"

namespace pipetrace {

namespace {

/// Draws critical paths with slack, and the arrows of the selection. Draws nothing once `causes` is
/// gone.
class CausesOverlay : public ChartOverlay {
 public:
  explicit CausesOverlay(Causes& causes) : causes_(&causes) {}

  void paint(QPainter& painter, const ChartView& view) override;

 private:
  void paintPath(Canvas& canvas, const ChartView& view);

  QPointer<Causes> causes_;
  FontCache fonts_;
};

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

std::optional<EventSpot> spotOf(const std::optional<ChartHit>& hit) {
  if (!hit) return std::nullopt;
  return EventSpot{hit->row, hit->event};
}

ChartHit hitOn(const EventSpot& spot) {
  return {.row = spot.row, .event = spot.event, .count = 1, .load = {}, .span = 0};
}

}  // namespace

Causes::Causes(ChartWidget& chart) : chart_(chart) {
  chart.addOverlay(std::make_unique<CausesOverlay>(*this));
  connect(&chart, &ChartWidget::selectionChanged, this, &Causes::findLinks);
  connect(&chart, &ChartWidget::waitedForWanted, this, &Causes::goToWaitedFor);
  connect(&chart, &ChartWidget::waitingWanted, this, &Causes::goToWaiting);
  connect(&chart, &ChartWidget::criticalPathWanted, this, &Causes::showCriticalPath);
  connect(&paths_, &PathCache::found, this, [this] {
    chart_.viewport()->update();
    emit changed();
  });
}

Causes::~Causes() = default;

void Causes::show(std::shared_ptr<const Explanation> explanation,
                  std::shared_ptr<const void> timelineOwner) {
  clear();
  if (!explanation || chart_.model() == nullptr) return;
  // The places need the other two.
  struct Owned {
    std::shared_ptr<const void> timeline;
    std::shared_ptr<const Explanation> explanation;
    GraphPlaces places;
  };
  const Explanation& explained = *explanation;
  const auto owned = std::make_shared<const Owned>(Owned{
      std::move(timelineOwner), std::move(explanation), GraphPlaces(explained, *chart_.model())});
  places_ = {owned, &owned->places};
  chart_.findCulpritsBy([places = places_](const ChartHit& hit) -> std::optional<ChartHit> {
    const Bubble* const bubble = places->bubbleOf({hit.row, hit.event});
    const auto culprit = bubble == nullptr ? std::nullopt : places->culpritOf(*bubble);
    return culprit ? std::optional(hitOn(*culprit)) : std::nullopt;
  });
  paths_.clear(places_);
  findLinks();
}

void Causes::clear() {
  places_.reset();
  chart_.findCulpritsBy(nullptr);
  paths_.clear(nullptr);
  findLinks();
}

void Causes::findLinks() {
  links_.clear();
  const auto selected = spotOf(chart_.selection());
  if (selected && selected->event->kind == JobKind::kBubble) {
    addBubbleLinks(*selected);
  } else if (selected && places_) {
    const JobRelations relations(*places_);
    const JobGraph::Id node = selectedNode();
    const bool isMessage = node != JobGraph::kNone && places_->graph().node(node).isMessage;
    JobGraph::Id job = node;
    if (isMessage) {
      const auto waiting = relations.waiting(node);
      job = waiting.empty() ? places_->graph().node(node).inputs[0] : waiting.front().job;
    }
    if (job != JobGraph::kNone) {
      for (const ChainLink& link : relations.chainOf(job)) {
        const auto from = places_->spotOf(link.from);
        const auto to = places_->spotOf(link.to);
        if (!from || !to) continue;
        const bool isDirect =
            isMessage ? link.message == node : link.from == node || link.to == node;
        links_.push_back({*from, *to, isDirect ? LinkKind::kDirect : LinkKind::kChain});
      }
    }
  }
  chart_.viewport()->update();
  emit changed();
}

/// From the bubble to its culprit; through the message, where that is what it waited for.
void Causes::addBubbleLinks(const EventSpot& bubble) {
  const auto culprit = spotOf(chart_.culprit());
  if (!culprit) return;
  EventSpot from = bubble;
  const Bubble* known = places_ ? places_->bubbleOf(bubble) : nullptr;
  if (known != nullptr && known->cause != JobGraph::kNone && known->cause != known->culprit &&
      places_->graph().node(known->cause).isMessage) {
    if (const auto message = places_->spotOf(known->cause)) {
      links_.push_back({from, *message, LinkKind::kCulprit});
      from = *message;
    }
  }
  links_.push_back({from, *culprit, LinkKind::kCulprit});
}

JobGraph::Id Causes::selectedNode() const {
  const auto selected = spotOf(chart_.selection());
  return selected && places_ ? places_->nodeOf(*selected) : JobGraph::kNone;
}

void Causes::goTo(const EventSpot& spot) { chart_.goTo(hitOn(spot)); }

void Causes::goToNode(JobGraph::Id node) {
  if (const auto spot = places_->spotOf(node)) goTo(*spot);
}

void Causes::goToWaitedFor() {
  if (chart_.culprit()) return chart_.showCulprit();
  const JobGraph::Id node = selectedNode();
  if (node == JobGraph::kNone) return;
  goToNode(JobRelations(*places_).waitedForLast(node));
}

void Causes::goToWaiting() {
  const auto selected = spotOf(chart_.selection());
  if (!selected || !places_) return;
  if (selected->event->kind == JobKind::kBubble) {
    const auto& lanes = chart_.model()->rows()[selected->row].lanes;
    const std::size_t at = lanes.front().firstBeginningAt(selected->event->end);
    if (at < lanes.front().size()) goTo({selected->row, &lanes.front()[at]});
    return;
  }
  const JobGraph::Id node = selectedNode();
  if (node != JobGraph::kNone) goToNode(JobRelations(*places_).waitingFirst(node));
}

void Causes::showCriticalPath(bool isShown) {
  isPathShown_ = isShown;
  chart_.viewport()->update();
}

bool Causes::areTooMany(const ChartView& view) const {
  return places_ &&
         !stepsIn(places_->explanation(), view.axis.begin(), view.axis.end(), kMostSteps);
}

std::vector<const ChartPath*> Causes::pathsIn(const ChartView& view) {
  std::vector<const ChartPath*> paths;
  if (!places_) return paths;
  const auto steps =
      stepsIn(places_->explanation(), view.axis.begin(), view.axis.end(), kMostSteps);
  if (!steps) return paths;
  for (const StepOfPipeline& step : *steps) {
    if (const ChartPath* path = paths_.find(step)) paths.push_back(path);
  }
  return paths;
}

std::optional<bool> Causes::isOnPath(const EventSpot& spot) {
  const JobGraph::Id node = places_ ? places_->nodeOf(spot) : JobGraph::kNone;
  if (node == JobGraph::kNone) return std::nullopt;
  const BubbleWindow* window = places_->windowOf(node);
  if (window == nullptr) return std::nullopt;
  const std::size_t pipeline = places_->pipelineOf(places_->graph().node(node).rank);
  const auto& windows = places_->explanation().basis->pipelines()[pipeline].windows;
  const ChartPath* path =
      paths_.find({pipeline, static_cast<std::size_t>(window - windows.data())});
  if (path == nullptr) return std::nullopt;
  // A message is on the path with one of its two ends.
  const auto spotOfNode = places_->spotOf(node);
  return std::any_of(path->parts.begin(), path->parts.end(), [&](const PathPart& part) {
    return part.spot.event != nullptr && spotOfNode && part.spot.event == spotOfNode->event;
  });
}

}  // namespace pipetrace
