#include "analysis/explain/evidence.h"

#include <algorithm>
#include <functional>

#include "trace/display_name.h"

namespace pipetrace {
namespace {

Evidence bubbleEvidence(const JobGraph& graph, std::uint32_t rank, const Bubble& bubble) {
  Event event;
  event.begin = bubble.begin;
  event.end = bubble.end;
  event.step = bubble.step;
  event.kind = JobKind::kBubble;
  event.bubbleClass = bubble.bubbleClass;
  return {graph.ranks()[rank].number, std::string(kBubbleLane), event};
}

/// The longest bubble of the finding's classes on any rank.
std::optional<Evidence> longestBubble(const Explanation& run, const Finding& finding) {
  const Bubble* longest = nullptr;
  std::uint32_t rankOfLongest = 0;
  for (std::uint32_t rank = 0; rank < run.bubbles.byRank.size(); ++rank) {
    for (const Bubble& bubble : run.bubbles.byRank[rank]) {
      if (longest != nullptr && bubble.end - bubble.begin <= longest->end - longest->begin)
        continue;
      const bool isOfFinding = std::find(finding.classes.begin(), finding.classes.end(),
                                         bubble.bubbleClass) != finding.classes.end();
      if (!isOfFinding) continue;
      longest = &bubble;
      rankOfLongest = rank;
    }
  }
  if (longest == nullptr) return std::nullopt;
  return bubbleEvidence(*run.graph, rankOfLongest, *longest);
}

/// The event for which `isBetter` than all others that `isAllowed`.
std::optional<Evidence> bestEvent(const Timeline& timeline,
                                  const std::function<bool(const Track&, const Event&)>& isAllowed,
                                  const std::function<bool(const Event&, const Event&)>& isBetter) {
  const Event* best = nullptr;
  const Track* trackOfBest = nullptr;
  for (const Track& track : timeline.tracks) {
    for (const Event& event : track.events) {
      if (!isAllowed(track, event) || (best != nullptr && !isBetter(event, *best))) continue;
      best = &event;
      trackOfBest = &track;
    }
  }
  if (best == nullptr) return std::nullopt;
  return Evidence{trackOfBest->rank, trackOfBest->lane, *best};
}

std::optional<Evidence> evidenceOfPause(const Timeline& timeline, const Pauses& pauses) {
  if (pauses.reason != Pauses::Reason::kUnknown) {
    const auto inside = [&](const Event& event) {
      return std::min(event.end, pauses.end) - std::max(event.begin, pauses.begin);
    };
    const auto work = bestEvent(
        timeline,
        [&](const Track& track, const Event& event) {
          return track.rank == pauses.rank && inside(event) > 0 &&
                 displayName(timeline, event) == pauses.work;
        },
        [&](const Event& a, const Event& b) { return inside(a) > inside(b); });
    if (work) return work;
  }
  return bestEvent(
      timeline,
      [&](const Track&, const Event& event) {
        return isCompute(event.kind) && event.begin >= pauses.end;
      },
      [](const Event& a, const Event& b) { return a.begin < b.begin; });
}

/// The message between the culprit's two ranks that is received longest before it is sent.
std::optional<Evidence> earliestMessage(const Timeline& timeline, const Explanation& run,
                                        const CulpritGroup& link) {
  const JobGraph& graph = *run.graph;
  const JobGraph::Node* earliest = nullptr;
  for (std::size_t id = graph.jobCount(); id < graph.messageEnd(); ++id) {
    const JobGraph::Node& node = graph.node(static_cast<JobGraph::Id>(id));
    if (node.inputs[0] == JobGraph::kNone) continue;
    const int from = graph.ranks()[graph.node(node.inputs[0]).rank].number;
    const int to = graph.ranks()[node.rank].number;
    if (std::min(from, to) != link.rank || std::max(from, to) != link.peer) continue;
    if (earliest == nullptr || node.end - node.begin < earliest->end - earliest->begin) {
      earliest = &node;
    }
  }
  if (earliest == nullptr) return std::nullopt;
  const Event* event = earliest->event;
  return bestEvent(
      timeline, [event](const Track&, const Event& each) { return &each == event; },
      [](const Event&, const Event&) { return false; });
}

}  // namespace

std::optional<Evidence> evidenceOf(const Timeline& timeline, const Explanation& run,
                                   const Finding& finding) {
  if (!finding.culprit.examples.empty()) {
    const auto& [rank, bubble] = finding.culprit.examples.front();
    return bubbleEvidence(*run.graph, rank, bubble);
  }
  if (!finding.classes.empty()) return longestBubble(run, finding);
  if (finding.pauses) return evidenceOfPause(timeline, *finding.pauses);
  return earliestMessage(timeline, run, finding.culprit);
}

}  // namespace pipetrace
