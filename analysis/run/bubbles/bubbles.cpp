#include "analysis/run/bubbles/bubbles.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analysis/run/bubbles/rank_bubbles.h"
#include "analysis/run/graph/job_name.h"
#include "trace/event_arguments.h"
#include "trace/threads/in_parallel.h"
#include "trace/threads/large_pages.h"

namespace pipetrace {
namespace {

/// The bubbles of a rank as events. Those with a culprit have its index in `culprits` for their
/// first argument, until they get the argument with its name.
struct RankEvents {
  std::vector<Event> events;
  std::vector<Bubble> culprits;  // one bubble for each name
};

/// The same for jobs with the same name. The names of most follow from these three.
std::uint64_t nameKeyOf(const JobGraph& graph, const Bubble& bubble) {
  const JobGraph::Id id = bubble.culprit;
  const JobGraph::Id late = lateMessageOf(graph, bubble);
  const bool isLate = late != JobGraph::kNone;
  const JobGraph::Node& node = graph.node(isLate ? late : id);
  const Event& job = culpritEventOf(graph, bubble);
  if (!isLate && (job.kind == JobKind::kForwardBackward || !isComputeLane(job.kind))) {
    return (std::uint64_t{0xff} << 56U) ^ (std::uint64_t{bubble.isAtSender} << 32U) ^ id;
  }
  return (static_cast<std::uint64_t>(job.kind) << 56U) ^
         (static_cast<std::uint64_t>(job.stage) << 32U) ^
         static_cast<std::uint32_t>(node.microBatch);
}

class RankEventMaker {
 public:
  RankEventMaker(const JobGraph& graph, std::size_t count) : graph_(graph) {
    reserveLarge(made_.events, count);
  }

  void add(const Bubble& bubble) {
    Event& event = made_.events.emplace_back();
    event.begin = bubble.begin;
    event.end = bubble.end;
    event.step = bubble.step;
    event.kind = JobKind::kBubble;
    event.bubbleClass = bubble.bubbleClass;
    event.phase = graph_.phase();
    if (bubble.culprit == JobGraph::kNone) return;
    event.peer = graph_.ranks()[culpritRankOf(graph_, bubble)].number;
    event.job = culpritEventOf(graph_, bubble).job;
    const auto next = static_cast<std::uint32_t>(made_.culprits.size());
    const auto [index, isNew] = known_.try_emplace(nameKeyOf(graph_, bubble), next);
    if (isNew) made_.culprits.push_back(bubble);
    event.firstArgument = index->second;
    event.argumentCount = 1;
  }
  RankEvents take() { return std::move(made_); }

 private:
  const JobGraph& graph_;
  RankEvents made_;
  std::unordered_map<std::uint64_t, std::uint32_t> known_;  // by name
};

RankEvents eventsOf(const JobGraph& graph, const std::vector<Bubble>& bubbles) {
  RankEventMaker maker(graph, bubbles.size());
  for (const Bubble& bubble : bubbles) maker.add(bubble);
  return maker.take();
}

/// The same. Gives the memory of the bubbles back as it goes on: there is not enough for all of
/// them beside all events.
RankEvents eventsInPlaceOf(const JobGraph& graph, std::vector<Bubble> bubbles) {
  constexpr std::size_t kAtOnce = 65536;
  RankEventMaker maker(graph, bubbles.size());
  for (std::size_t i = 0; i < bubbles.size(); ++i) {
    maker.add(bubbles[i]);
    if ((i + 1) % kAtOnce == 0) letPagesGo(&bubbles[i + 1 - kAtOnce], kAtOnce * sizeof(Bubble));
  }
  return maker.take();
}

BubbleLanes lanesOf(const Timeline& timeline, const Topology& topology, const RunSummary& summary,
                    int threads) {
  const JobGraph graph(timeline, topology, summary.phase, threads);
  std::optional<RunBasis> basis(std::in_place, graph, summary, threads);
  basis->planMissingRanks(timeline, topology, threads);
  Bubbles bubbles = classifyBubbles(*basis, threads);
  basis.reset();  // the events need its memory
  return bubbleLanes(timeline, graph, std::move(bubbles), threads);
}

/// Adds the bubbles of one phase to those of others of the same timeline. No two overlap on a rank,
/// as windows do not.
void merge(BubbleLanes more, BubbleLanes& lanes) {
  const auto names = static_cast<std::uint32_t>(lanes.culprits.size());
  lanes.culprits.insert(lanes.culprits.end(), more.culprits.begin(), more.culprits.end());
  for (Track& track : more.tracks) {
    for (Event& event : track.events) {
      if (event.argumentCount > 0) event.firstArgument += names;
    }
    const auto own = std::find_if(lanes.tracks.begin(), lanes.tracks.end(),
                                  [&](const Track& each) { return each.rank == track.rank; });
    if (own == lanes.tracks.end()) {
      lanes.tracks.push_back(std::move(track));
      continue;
    }
    std::vector<Event> both(own->events.size() + track.events.size());
    std::merge(own->events.begin(), own->events.end(), track.events.begin(), track.events.end(),
               both.begin(), [](const Event& a, const Event& b) { return a.begin < b.begin; });
    own->events = std::move(both);
  }
}

/// Inserts the bubbles where Timeline::sort() would put them; sorting would look at all events
/// again.
void insert(Timeline& timeline, Track bubbles) {
  const auto at =
      std::partition_point(timeline.tracks.begin(), timeline.tracks.end(), [&](const Track& track) {
        return track.rank != bubbles.rank ? track.rank < bubbles.rank
                                          : laneComesBefore(track.lane, kBubbleLane);
      });
  timeline.tracks.insert(at, std::move(bubbles));
}

Nanoseconds lengthOf(const BubbleOfRank& bubble) {
  return bubble.second->end - bubble.second->begin;
}

bool comesFirst(const BubbleOfRank& a, const BubbleOfRank& b) {
  if (lengthOf(a) != lengthOf(b)) return lengthOf(a) > lengthOf(b);
  return a.first != b.first ? a.first < b.first : a.second->begin < b.second->begin;
}

/// Keeps the largest `most`, in no order; the last of the list is the least of them.
void cut(std::vector<BubbleOfRank>& list, std::size_t most) {
  const auto end = list.begin() + static_cast<std::ptrdiff_t>(most);
  std::nth_element(list.begin(), end - 1, list.end(), comesFirst);
  list.erase(end, list.end());
}

}  // namespace

JobGraph::Id frontEndOf(const JobGraph& graph, const Bubble& bubble) {
  return bubble.isAtSender ? graph.sendOf(bubble.culprit) : graph.receiveOf(bubble.culprit);
}

JobGraph::Id lateMessageOf(const JobGraph& graph, const Bubble& bubble) {
  const bool isLate = bubble.bubbleClass == BubbleClass::kLateStart &&
                      bubble.cause != JobGraph::kNone && graph.node(bubble.cause).isMessage;
  if (!isLate) return JobGraph::kNone;
  // A receive that was posted in time, and waited for late, is as late as the job that needs it.
  const Event* const receive = graph.message(bubble.cause).receive;
  const bool isInTime = receive != nullptr && receive->begin < graph.node(bubble.cause).begin;
  return isInTime && !isPostedBySender(graph, bubble.cause) ? JobGraph::kNone : bubble.cause;
}

std::uint32_t culpritRankOf(const JobGraph& graph, const Bubble& bubble) {
  if (bubble.bubbleClass != BubbleClass::kBlocked) return graph.node(bubble.culprit).rank;
  return graph.lineEnd(frontEndOf(graph, bubble)).rank;
}

const Event& culpritEventOf(const JobGraph& graph, const Bubble& bubble) {
  if (const JobGraph::Id late = lateMessageOf(graph, bubble); late != JobGraph::kNone) {
    const JobGraph::Message& ends = graph.message(late);
    return isPostedBySender(graph, late) ? *ends.send : *ends.receive;
  }
  const JobGraph::Node& culprit = graph.node(bubble.culprit);
  return culprit.isMessage && bubble.isAtSender ? *graph.message(bubble.culprit).send
                                                : *culprit.event;
}

std::string culpritName(const Timeline& timeline, const JobGraph& graph, const Bubble& bubble) {
  const JobGraph::Node& culprit = graph.node(bubble.culprit);
  if (const JobGraph::Id late = lateMessageOf(graph, bubble); late != JobGraph::kNone) {
    return messageName(culpritEventOf(graph, bubble), graph.node(late).microBatch);
  }
  if (bubble.bubbleClass != BubbleClass::kBlocked) return jobName(timeline, culprit);
  return messageName(culpritEventOf(graph, bubble), culprit.microBatch);
}

Bubbles classifyBubbles(const RunBasis& basis, int threads) {
  const JobGraph& graph = basis.graph();
  std::vector<const PipelineBasis*> pipelineOf(graph.ranks().size(), nullptr);
  std::size_t windows = 0;
  for (const PipelineBasis& pipeline : basis.pipelines()) {
    for (const std::uint32_t rank : pipeline.jobs.ranks()) pipelineOf[rank] = &pipeline;
    windows = std::max(windows, pipeline.windows.size());
  }
  std::vector<RankBubbles> ranks;
  ranks.reserve(pipelineOf.size());
  for (std::uint32_t r = 0; r < pipelineOf.size(); ++r) {
    ranks.emplace_back(basis, *pipelineOf[r], r);
  }
  // A few steps at once: what paths need of these stays in the processor's caches. They let go of
  // earlier ones, so that memory stays flat.
  constexpr std::size_t kNodesAtOnce = 16384;
  const std::size_t nodes = graph.nodes().size() / std::max<std::size_t>(1, pipelineOf.size()) + 1;
  const std::size_t most =
      basis.pipelines().empty() ? 1 : pipelineOf.size() / basis.pipelines().size() + 1;
  const std::size_t atOnce = std::max<std::size_t>(1, windows * kNodesAtOnce / (nodes * most));
  for (std::size_t first = 0; first < windows; first += atOnce) {
    inParallel(threads, ranks.size(),
               [&](std::size_t r) { ranks[r].classifyUpTo(first + atOnce); });
    basis.paths().letGo();
  }
  basis.paths().letAllGo();
  Bubbles bubbles;
  for (RankBubbles& rank : ranks) {
    bubbles.inside.push_back(rank.takeInside());
    bubbles.times.push_back(rank.times());
    bubbles.byRank.push_back(rank.take());
  }
  return bubbles;
}

void addOtherPhases(const Timeline& timeline, const Topology& topology, const RunSummary& summary,
                    BubbleLanes& lanes, int threads) {
  std::set<Phase> others;
  for (const StepWindow& step : summary.otherSteps) others.insert(step.phase);
  for (const Phase phase : others) {
    const RunSummary ofPhase = summarizePhase(timeline, topology, phase, threads);
    merge(lanesOf(timeline, topology, ofPhase, threads), lanes);
  }
}

/// Finds the events of what ranks meet in. Of two of a rank with the same times either may be it.
static void addCollectives(const Timeline& timeline, const JobGraph& graph, BubbleLanes& lanes) {
  const InsideJobs& inside = graph.inside();
  using Times = std::tuple<Nanoseconds, Nanoseconds, JobKind>;
  std::multimap<Times, const Event*> events;
  for (const JobGraph::Rank& rank : graph.ranks()) {
    events.clear();
    for (const Track& track : tracksOf(timeline, rank.number)) {
      if (track.lane == kComputeLane || track.lane == kBubbleLane) continue;
      for (const Event& event : track.events) {
        const bool isOne = isCollective(event.kind) && event.job >= 0;
        if (isOne) events.emplace(Times(event.begin, event.end, event.kind), &event);
      }
    }
    for (JobGraph::Id job = rank.first; job < rank.end; ++job) {
      const auto [first, end] = inside.meetingsOf(job);
      for (InsideJobs::Id m = first; m < end; ++m) {
        const InsideJobs::Meeting& each = inside.meetings()[m];
        if (each.waitingInside + each.movingInside == 0) continue;
        const auto event = events.find({each.begin, each.end, inside.setOf(each).kind});
        if (event == events.end()) continue;
        lanes.collectives.emplace_back(
            event->second,
            InsideJobs::Parts{.waiting = each.waitingInside, .moving = each.movingInside});
        events.erase(event);
      }
    }
  }
}

static BubbleLanes lanesOfEvents(const Timeline& timeline, const JobGraph& graph, std::size_t ranks,
                                 const std::function<RankEvents(std::size_t)>& make, int threads) {
  std::vector<RankEvents> made(ranks);
  inParallel(threads, made.size(), [&](std::size_t r) { made[r] = make(r); });
  BubbleLanes lanes;
  lanes.firstArgument = timeline.arguments.size();
  std::unordered_map<std::string, std::uint32_t> known;  // arguments by name
  std::vector<std::vector<std::uint32_t>> arguments(made.size());
  for (std::size_t r = 0; r < made.size(); ++r) {
    for (const Bubble& culprit : made[r].culprits) {
      const auto next = static_cast<std::uint32_t>(lanes.firstArgument + known.size());
      const auto [name, isNew] = known.try_emplace(culpritName(timeline, graph, culprit), next);
      if (isNew) lanes.culprits.push_back(name->first);
      arguments[r].push_back(name->second);
    }
  }
  inParallel(threads, made.size(), [&](std::size_t r) {
    for (Event& event : made[r].events) {
      if (event.argumentCount > 0) event.firstArgument = arguments[r][event.firstArgument];
    }
  });
  for (std::size_t r = 0; r < made.size(); ++r) {
    if (made[r].events.empty()) continue;
    Track& track = lanes.tracks.emplace_back();
    track.rank = graph.ranks()[r].number;
    track.lane = kBubbleLane;
    track.events = std::move(made[r].events);
  }
  for (JobGraph::Id job = 0; job < graph.jobCount() && !graph.inside().empty(); ++job) {
    const auto [first, end] = graph.inside().meetingsOf(job);
    if (first != end) lanes.parts.emplace_back(graph.node(job).event, graph.inside().partsOf(job));
  }
  if (!graph.inside().empty()) addCollectives(timeline, graph, lanes);
  return lanes;
}

BubbleLanes bubbleLanes(const Timeline& timeline, const JobGraph& graph, const Bubbles& bubbles,
                        int threads) {
  const auto make = [&](std::size_t r) { return eventsOf(graph, bubbles.byRank[r]); };
  return lanesOfEvents(timeline, graph, bubbles.byRank.size(), make, threads);
}

BubbleLanes bubbleLanes(const Timeline& timeline, const JobGraph& graph, Bubbles&& bubbles,
                        int threads) {
  Bubbles own = std::move(bubbles);
  const auto make = [&](std::size_t r) { return eventsInPlaceOf(graph, std::move(own.byRank[r])); };
  return lanesOfEvents(timeline, graph, own.byRank.size(), make, threads);
}

/// Adds the parts of jobs and collectives as arguments; a profile that is read again has them
/// already.
static void addParts(Timeline& timeline, const BubbleLanes& lanes) {
  if (lanes.parts.empty() || timeline.strings.find(inside_arguments::kWaiting)) return;
  const StringId own = timeline.strings.intern(inside_arguments::kOwnTime);
  const StringId waiting = timeline.strings.intern(inside_arguments::kWaiting);
  const StringId moving = timeline.strings.intern(inside_arguments::kMoving);
  std::vector<std::pair<const Event*, InsideJobs::Parts>> sorted = lanes.parts;
  sorted.insert(sorted.end(), lanes.collectives.begin(), lanes.collectives.end());
  const auto before = [](const Event* a, const Event* b) { return std::less<>()(a, b); };
  std::sort(sorted.begin(), sorted.end(),
            [&](const auto& a, const auto& b) { return before(a.first, b.first); });
  for (Track& track : timeline.tracks) {
    if (track.events.empty()) continue;
    const Event* const first = track.events.data();
    auto next = std::partition_point(sorted.begin(), sorted.end(),
                                     [&](const auto& each) { return before(each.first, first); });
    for (; next != sorted.end() && before(next->first, first + track.events.size()); ++next) {
      const InsideJobs::Parts& of = next->second;
      const std::array arguments = {Argument::ofInteger(own, of.own),
                                    Argument::ofInteger(waiting, of.waiting),
                                    Argument::ofInteger(moving, of.moving)};
      Event& event = track.events[static_cast<std::size_t>(next->first - first)];
      timeline.addArguments(event, std::span(arguments).subspan(isCompute(event.kind) ? 0 : 1));
    }
  }
}

void joinBubbles(Timeline& timeline, BubbleLanes lanes) {
  assert(timeline.arguments.size() == lanes.firstArgument);
  const StringId key = timeline.strings.intern(bubble_arguments::kCulprit);
  for (const std::string& culprit : lanes.culprits) {
    timeline.arguments.push_back(Argument::ofText(key, timeline.strings.intern(culprit)));
  }
  addParts(timeline, lanes);
  for (Track& track : lanes.tracks) insert(timeline, std::move(track));
}

std::vector<BubbleOfRank> largestBubbles(const Bubbles& bubbles, std::size_t most,
                                         const CountedSteps& counted) {
  std::vector<BubbleOfRank> list;
  if (most == 0) return list;
  // A long run has millions: they are cut to the largest whenever there are twice as many.
  Nanoseconds least = kNsMin;  // shorter ones are not among these
  for (std::uint32_t r = 0; r < bubbles.byRank.size(); ++r) {
    for (const Bubble& bubble : bubbles.byRank[r]) {
      if (bubble.end - bubble.begin < least || !counted.contains(bubble.step)) continue;
      list.emplace_back(r, &bubble);
      if (list.size() < 2 * most) continue;
      cut(list, most);
      least = lengthOf(list.back());
    }
  }
  if (list.size() > most) cut(list, most);
  std::sort(list.begin(), list.end(), comesFirst);
  return list;
}

}  // namespace pipetrace
