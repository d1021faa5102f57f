#include "viewer/causes/causes.h"

#include <QPointer>
#include <algorithm>
#include <map>
#include <utility>

#include "analysis/run/graph/job_index.h"
#include "chart/links/draw_links.h"
#include "chart/links/link_colors.h"
#include "viewer/causes/inside_parts.h"
#include "viewer/chart/chart_widget.h"
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
  if (causes_->places() == nullptr) return;
  drawInside(canvas, view, *causes_->places());
  if (const auto job = causes_->selectedJob()) {
    drawLongestWait(canvas, view, *causes_->places(), *job);
  }
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
  chart_.findFieldsBy([places = places_](const ChartHit& hit) {
    return groupFields(*places, {hit.row, hit.event});
  });
  paths_.clear(places_);
  findLinks();
}

void Causes::clear() {
  places_.reset();
  chart_.findCulpritsBy(nullptr);
  chart_.findFieldsBy(nullptr);
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

std::optional<EventSpot> Causes::selectedJob() const { return spotOf(chart_.selection()); }

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

/// Visits the jobs of the pipeline that are of the job's step, those near it in time first.
template <typename Visit>
void JobRelations::visitStep(Id job, const Visit& visit) const {
  const JobGraph::Node& node = graph_.node(job);
  const auto& pipeline = graph_.pipelines()[places_.pipelineOf(node.rank)];
  const std::size_t most = std::max<std::size_t>(64, kMostJobs / pipeline.size());
  for (const std::uint32_t r : pipeline) {
    const JobGraph::Rank& rank = graph_.ranks()[r];
    const auto jobs = graph_.nodes().subspan(rank.first, rank.end - rank.first);
    const auto at = std::partition_point(jobs.begin(), jobs.end(),
                                         [&](const auto& each) { return each.begin < node.begin; });
    const auto middle = rank.first + static_cast<Id>(at - jobs.begin());
    // Jobs without a step of their own, such as `default`, may stand between those of a step.
    const auto isOther = [&](Id id) {
      return graph_.node(id).step >= 0 && graph_.node(id).step != node.step;
    };
    std::size_t left = most;
    for (Id id = middle; id < rank.end && left > 0 && !isOther(id); ++id, --left) visit(id);
    left = most;
    for (Id id = middle; id > rank.first && left > 0 && !isOther(id - 1); --id, --left) {
      visit(id - 1);
    }
  }
}

std::vector<JobRelations::Made> JobRelations::madeBy(Id job) const {
  std::vector<Made> made;
  visitMadeData(places_.model().timeline(), graph_.node(job), [&](const JobKey& key) {
    made.push_back({job, key.stage, key.microBatch, key.isForward});
  });
  return made;
}

std::vector<Relation> JobRelations::waitedFor(Id id) const {
  std::vector<Relation> found;
  const JobGraph::Node& node = graph_.node(id);
  if (node.before != JobGraph::kNone) {
    found.push_back({.job = node.before, .kind = Relation::Kind::kLane});
  }
  if (node.collective != JobGraph::kNone) {
    found.push_back({.job = node.collective, .kind = Relation::Kind::kCollective});
  }
  for (int i = 0; i < 2; ++i) {
    const Id input = node.inputs[i];
    if (input == JobGraph::kNone) continue;
    const bool isMessage = graph_.node(input).isMessage;
    const Id maker = graph_.producer(id, i);
    if (maker == JobGraph::kNone && !isMessage) continue;
    found.push_back(
        {.job = maker == JobGraph::kNone ? input : maker,
         .message = isMessage ? input : JobGraph::kNone,
         .kind = node.isCollective ? Relation::Kind::kCollective : Relation::Kind::kData});
  }
  const Id last = places_.explanation().basis->paths().predecessor(id);
  for (Relation& relation : found) {
    relation.isLast = last != JobGraph::kNone && (relation.job == last || relation.message == last);
  }
  return found;
}

std::vector<Relation> JobRelations::waiting(Id id) const {
  std::vector<Relation> found;
  const auto& paths = places_.explanation().basis->paths();
  visitStep(id, [&](Id other) {
    if (other == id) return;
    const JobGraph::Node& node = graph_.node(other);
    const auto add = [&](Relation::Kind kind, Id message) {
      const Id last = paths.predecessor(other);
      const bool isLast = last != JobGraph::kNone && (last == id || last == message);
      found.push_back({.job = other, .message = message, .kind = kind, .isLast = isLast});
    };
    for (int i = 0; i < 2; ++i) {
      const Id input = node.inputs[i];
      if (input == JobGraph::kNone || (input != id && graph_.producer(other, i) != id)) continue;
      return add(Relation::Kind::kData, graph_.node(input).isMessage ? input : JobGraph::kNone);
    }
    if (node.collective == id) return add(Relation::Kind::kCollective, JobGraph::kNone);
    if (node.before == id) add(Relation::Kind::kLane, JobGraph::kNone);
  });
  // The next step's first job waits for the last one of this step.
  const JobGraph::Rank& rank = graph_.ranks()[graph_.node(id).rank];
  const bool isJob = id >= rank.first && id + 1 < rank.end;
  if (isJob && graph_.node(id + 1).before == id &&
      std::none_of(found.begin(), found.end(), [&](const auto& r) { return r.job == id + 1; })) {
    found.push_back({.job = id + 1, .isLast = paths.predecessor(id + 1) == id});
  }
  std::sort(found.begin(), found.end(), [&](const Relation& a, const Relation& b) {
    return std::pair(graph_.node(a.job).begin, a.job) < std::pair(graph_.node(b.job).begin, b.job);
  });
  return found;
}

JobRelations::Id JobRelations::waitedForLast(Id node) const {
  const auto& paths = places_.explanation().basis->paths();
  const auto isJob = [&](Id id) { return id < graph_.jobCount(); };
  Id at = paths.predecessor(node);
  // Paths end at an optimizer, which yet follows the job before it.
  if (at == JobGraph::kNone) at = graph_.node(node).before;
  while (at != JobGraph::kNone && !isJob(at)) at = paths.predecessor(at);
  return at;
}

JobRelations::Id JobRelations::waitingFirst(Id node) const {
  const std::vector<Relation> all = waiting(node);
  const auto last =
      std::find_if(all.begin(), all.end(), [](const Relation& each) { return each.isLast; });
  if (last != all.end()) return last->job;
  return all.empty() ? JobGraph::kNone : all.front().job;
}

/// Finds what the jobs of its step make of the job's micro-batches.
std::vector<JobRelations::Made> JobRelations::madeAround(Id job) const {
  const std::vector<Made> own = madeBy(job);
  std::vector<std::int32_t> microBatches;
  for (const Made& made : own) microBatches.push_back(made.microBatch);
  const JobGraph::Node& node = graph_.node(job);
  if (own.empty() && isCompute(node.kind)) microBatches.push_back(node.microBatch);
  std::vector<Made> all;
  visitStep(job, [&](Id other) {
    const JobGraph::Node& each = graph_.node(other);
    const bool isPair = each.kind == JobKind::kForwardBackward;
    const auto isAsked = [&](std::int32_t microBatch) {
      return std::find(microBatches.begin(), microBatches.end(), microBatch) != microBatches.end();
    };
    if (!isCompute(each.kind) || (!isPair && !isAsked(each.microBatch))) return;
    for (const Made& made : madeBy(other)) {
      if (isAsked(made.microBatch)) all.push_back(made);
    }
  });
  return all;
}

std::vector<ChainLink> JobRelations::chainOf(Id job) const {
  if (job >= graph_.jobCount()) return {};
  using Key = std::pair<std::int32_t, std::int32_t>;  // micro-batch, place on the way
  const std::vector<Made> made = madeAround(job);
  std::int32_t stages = 0;
  for (const Made& each : made) stages = std::max(stages, each.stage + 1);
  // Forward through the stages 0 .. s − 1, then back: places s .. 2 s − 1.
  std::map<Key, Id> way;
  for (const Made& each : made) {
    if (each.stage < 0) continue;
    const std::int32_t place = each.isForward ? each.stage : 2 * stages - 1 - each.stage;
    Id& at = way.try_emplace({each.microBatch, place}, each.job).first->second;
    if (graph_.node(at).end < graph_.node(each.job).end) at = each.job;  // the last of its parts
  }
  std::vector<ChainLink> chain;
  for (const auto& [key, to] : way) {
    const auto from = way.find({key.first, key.second - 1});
    if (from == way.end() || from->second == to) continue;
    ChainLink link{from->second, to, JobGraph::kNone};
    for (int i = 0; i < 2; ++i) {
      const bool isIt = graph_.producer(to, i) == link.from;
      if (isIt && graph_.node(graph_.node(to).inputs[i]).isMessage) {
        link.message = graph_.node(to).inputs[i];
      }
    }
    chain.push_back(link);
  }
  return chain;
}

}  // namespace pipetrace
