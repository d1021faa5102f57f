#include "viewer/causes/inside_parts.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "chart/links/link_colors.h"

namespace pipetrace {
namespace {

constexpr int kWideJob = 40;      // pixels from which a job shows its parts
constexpr int kHighestBand = 9;   // pixels
constexpr int kLeastRow = 16;     // pixels of a row that has room for a band
constexpr double kArrowHead = 7;  // pixels

int bandHeight(int row) { return std::clamp(row / 4, 3, kHighestBand); }

/// An arrow from a point to another one.
void drawArrow(Canvas& canvas, PixelPoint from, PixelPoint to, Color color, Color ground) {
  const std::array<PixelPoint, 2> way = {from, to};
  canvas.line(way, {.color = ground, .width = 4, .opacity = 0.8});
  canvas.line(way, {.color = color, .width = 2});
  const double length = std::hypot(to.x - from.x, to.y - from.y);
  if (length < 1) return;
  const double x = (to.x - from.x) / length;
  const double y = (to.y - from.y) / length;
  const std::array<PixelPoint, 3> head = {
      to,
      {to.x - kArrowHead * x - kArrowHead / 2 * y, to.y - kArrowHead * y + kArrowHead / 2 * x},
      {to.x - kArrowHead * x + kArrowHead / 2 * y, to.y - kArrowHead * y - kArrowHead / 2 * x}};
  canvas.polygon(head, color);
}

}  // namespace

std::vector<InsidePiece> piecesOf(const GraphPlaces& places, JobGraph::Id job) {
  std::vector<InsidePiece> pieces;
  const JobGraph& graph = places.graph();
  const InsideJobs& inside = graph.inside();
  if (inside.empty() || job >= graph.jobCount()) return pieces;
  const JobGraph::Node& node = graph.node(job);
  const auto [first, last] = inside.meetingsOf(job);
  for (InsideJobs::Id i = first; i < last; ++i) {
    const InsideJobs::Meeting& meeting = inside.meetings()[i];
    if (meeting.job != job) continue;
    Nanoseconds at = std::max(meeting.begin, node.begin);
    for (const bool isWaiting : {true, false}) {
      const Nanoseconds time = isWaiting ? meeting.waitingInside : meeting.movingInside;
      const Nanoseconds end = std::min(at + time, node.end);
      if (end > at) pieces.push_back({at, end, isWaiting});
      at = std::max(at, end);
    }
  }
  std::sort(pieces.begin(), pieces.end(),
            [](const InsidePiece& a, const InsidePiece& b) { return a.begin < b.begin; });
  return pieces;
}

std::optional<LongestWait> longestWaitOf(const GraphPlaces& places, JobGraph::Id job) {
  const InsideJobs& inside = places.graph().inside();
  if (inside.empty() || job >= places.graph().jobCount()) return std::nullopt;
  const InsideJobs::Meeting* longest = nullptr;
  const auto [first, last] = inside.meetingsOf(job);
  for (InsideJobs::Id i = first; i < last; ++i) {
    const InsideJobs::Meeting& meeting = inside.meetings()[i];
    const bool isKnown = meeting.job == job && meeting.last != InsideJobs::kNone;
    if (!isKnown || meeting.waitingInside <= 0) continue;
    if (longest == nullptr || meeting.waitingInside > longest->waitingInside) longest = &meeting;
  }
  if (longest == nullptr) return std::nullopt;
  const InsideJobs::Meeting& came = inside.meetings()[longest->last];
  const InsideJobs::Id starter = inside.starterOf(came);
  const auto spot = places.spotOf(starter == InsideJobs::kNone ? came.job : starter);
  if (!spot) return std::nullopt;
  return LongestWait{
      {longest->begin, longest->begin + longest->waitingInside, true}, *spot, came.begin};
}

void drawInside(Canvas& canvas, const ChartView& view, const GraphPlaces& places) {
  if (places.graph().inside().empty()) return;
  const Theme& theme = view.model.theme();
  const Color waiting = theme.tintOf(BubbleClass::kPeerWait);
  const Color moving = theme.jobs[static_cast<std::size_t>(JobKind::kAllReduce)];
  for (const RowInView& row : view.rowsInView()) {
    if (!row.row->showsLanes() || row.place.height < kLeastRow) continue;
    const ChartRow& lanes = view.model.rows()[row.row->row];
    if (!lanes.isCompute || lanes.lanes.size() != 1) continue;
    canvas.pushClip(view.clipOf(row.isPinned));
    const LaneIndex& lane = lanes.lanes.front();
    const Nanoseconds least = view.axis.durationOf(kWideJob);
    for (std::size_t i = lane.firstEndingAfter(view.axis.begin()); i < lane.size(); ++i) {
      if (lane.beginOf(i) >= view.axis.end()) break;
      if (lane.endOf(i) - lane.beginOf(i) < least) continue;
      for (const InsidePiece& piece : piecesOf(places, places.nodeOf({row.row->row, &lane[i]}))) {
        const int left = std::max(view.xOf(piece.begin), view.area.x);
        const int right = std::min(view.xOf(piece.end), view.area.right());
        if (right <= left) continue;
        canvas.fill({left, row.place.top, right - left, bandHeight(row.place.height)},
                    piece.isWaiting ? waiting : moving);
      }
    }
    canvas.popClip();
  }
}

void drawLongestWait(Canvas& canvas, const ChartView& view, const GraphPlaces& places,
                     const EventSpot& job) {
  if (job.event == nullptr || !isCompute(job.event->kind)) return;
  const JobGraph::Id id = places.nodeOf(job);
  const auto longest = id == JobGraph::kNone ? std::nullopt : longestWaitOf(places, id);
  if (!longest) return;
  const EventBox from = boxOf(view, job);
  const EventBox to = boxOf(view, longest->last);
  const double middle = view.xOf(longest->wait.begin) +
                        (view.xOf(longest->wait.end) - view.xOf(longest->wait.begin)) / 2.0;
  const bool isBelow = to.rect.y > from.rect.y;
  const double fromY = from.rect.y + bandHeight(from.rect.height) / 2.0;
  const double toY = isBelow ? to.rect.y : to.rect.bottom();
  const LinkColors colors = linkColorsOf(view.model);
  drawArrow(canvas, {middle, fromY}, {static_cast<double>(view.xOf(longest->came)), toY},
            colors.culprit, colors.paper);
}

}  // namespace pipetrace
