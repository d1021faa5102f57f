#include <algorithm>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analysis/bubbles/bubbles.h"
#include "analysis/graph/job_name.h"
#include "trace/bubble_arguments.h"
#include "trace/threads/in_parallel.h"

namespace pipetrace {
namespace {

/// Gives bubbles the names of their culprits, each of which is made once.
class CulpritNames {
 public:
  explicit CulpritNames(Timeline& timeline)
      : timeline_(timeline), key_(timeline.strings.intern(bubble_arguments::kCulprit)) {}

  void give(Event& bubble, const JobGraph::Node& culprit) {
    const Event& job = *culprit.event;
    // Most names follow from these three.
    const std::uint64_t numbers = (static_cast<std::uint64_t>(job.kind) << 56U) ^
                                  (static_cast<std::uint64_t>(job.stage) << 32U) ^
                                  static_cast<std::uint32_t>(culprit.microBatch);
    if (job.kind == JobKind::kForwardBackward || !isComputeLane(job.kind)) {
      add(bubble, timeline_.strings.intern(jobName(timeline_, culprit)));
      return;
    }
    const auto [name, isNew] = names_.try_emplace(numbers);
    if (isNew) name->second = timeline_.strings.intern(jobName(timeline_, culprit));
    add(bubble, name->second);
  }

 private:
  void add(Event& bubble, StringId name) {
    const Argument argument = Argument::ofText(key_, name);
    timeline_.setArguments(bubble, {&argument, 1});
  }

  Timeline& timeline_;
  StringId key_;
  std::unordered_map<std::uint64_t, StringId> names_;
};

std::vector<Event> eventsOf(const JobGraph& graph, const std::vector<Bubble>& bubbles) {
  std::vector<Event> events(bubbles.size());
  for (std::size_t i = 0; i < bubbles.size(); ++i) {
    const Bubble& bubble = bubbles[i];
    Event& event = events[i];
    event.begin = bubble.begin;
    event.end = bubble.end;
    event.step = bubble.step;
    event.kind = JobKind::kBubble;
    event.bubbleClass = bubble.bubbleClass;
    const JobGraph::Id job = bubble.culprit;
    if (job == JobGraph::kNone) continue;
    const JobGraph::Node& culprit = graph.node(job);
    event.peer = graph.ranks()[culprit.rank].number;
    event.job = culprit.event->job;
  }
  return events;
}

/// Inserts the bubbles where Timeline::sort() would put them; sorting would look at all events
/// again.
void insert(Timeline& timeline, int rank, std::vector<Event> bubbles) {
  const auto at =
      std::partition_point(timeline.tracks.begin(), timeline.tracks.end(), [&](const Track& track) {
        return track.rank != rank ? track.rank < rank : laneComesBefore(track.lane, kBubbleLane);
      });
  Track& track = *timeline.tracks.emplace(at);
  track.rank = rank;
  track.lane = kBubbleLane;
  track.events = std::move(bubbles);
}

}  // namespace

void appendBubbles(Timeline& timeline, const RunSummary& summary, int threads) {
  std::erase_if(timeline.tracks, [](const Track& track) { return track.lane == kBubbleLane; });
  if (summary.steps.empty()) return;
  const Topology topology = topologyOf(timeline, threads);
  const JobGraph graph(timeline, topology, threads);
  RunBasis basis(graph, summary, threads);
  basis.planMissingRanks(timeline, topology, threads);
  appendBubbles(timeline, graph, classifyBubbles(basis, threads), threads);
}

void appendBubbles(Timeline& timeline, const JobGraph& graph, const Bubbles& bubbles, int threads) {
  std::vector<std::vector<Event>> events(bubbles.byRank.size());
  inParallel(threads, events.size(),
             [&](std::size_t r) { events[r] = eventsOf(graph, bubbles.byRank[r]); });
  CulpritNames names(timeline);
  for (std::size_t r = 0; r < events.size(); ++r) {
    for (std::size_t i = 0; i < events[r].size(); ++i) {
      const JobGraph::Id culprit = bubbles.byRank[r][i].culprit;
      if (culprit != JobGraph::kNone) names.give(events[r][i], graph.node(culprit));
    }
    const int rank = graph.ranks()[r].number;
    if (!events[r].empty()) insert(timeline, rank, std::move(events[r]));
  }
}

}  // namespace pipetrace
