#include "analysis/what_if/moved_run.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <utility>

namespace pipetrace {
namespace {

struct MovedSpan {
  Nanoseconds begin = 0;
  Nanoseconds end = 0;
};

/// Where the times of a rank move to, by the begins and ends of its jobs.
class MovedClock {
 public:
  void add(Nanoseconds from, Nanoseconds to) { points_.emplace_back(from, to); }

  /// Times of jobs that overlap may contradict each other: those that go back are left out.
  void finish() {
    std::sort(points_.begin(), points_.end());
    std::size_t kept = 0;
    for (const auto& [from, to] : points_) {
      if (kept > 0 && (from <= points_[kept - 1].first || to < points_[kept - 1].second)) continue;
      points_[kept++] = {from, to};
    }
    points_.resize(kept);
  }

  Nanoseconds of(Nanoseconds time) const {
    if (points_.empty()) return time;
    const auto after =
        std::upper_bound(points_.begin(), points_.end(), time,
                         [](Nanoseconds value, const auto& point) { return value < point.first; });
    if (after == points_.begin()) return time + after->second - after->first;
    const auto before = after - 1;
    const Nanoseconds since = time - before->first;
    if (after == points_.end()) return before->second + since;
    const Nanoseconds length = after->first - before->first;
    const Nanoseconds room = after->second - before->second;
    if (length == room) return before->second + since;
    return before->second + std::llround(static_cast<double>(since) * static_cast<double>(room) /
                                         static_cast<double>(length));
  }

 private:
  std::vector<std::pair<Nanoseconds, Nanoseconds>> points_;  // from and to, ascending
};

}  // namespace

Timeline MovedEvents::moved(std::span<const Work> operations) const {
  std::map<int, MovedClock> clocks;
  std::unordered_map<const Event*, MovedSpan> spans;
  spans.reserve(2 * operations.size());
  for (const Work& work : operations) {
    const JobGraph::Node& node = graph_.node(work.node);
    if (node.isMessage) continue;
    spans[node.event] = {work.begin, work.end};
    if (node.isCollective) continue;
    MovedClock& clock = clocks[graph_.ranks()[node.rank].number];
    clock.add(node.begin, work.begin);
    clock.add(node.end, work.end);
  }
  for (auto& [rank, clock] : clocks) clock.finish();
  for (const Work& work : operations) {
    const JobGraph::Node& node = graph_.node(work.node);
    if (!node.isMessage) continue;
    const JobGraph::Message& message = graph_.message(work.node);
    const auto place = [&](const Event* event, int rank) {
      if (event == nullptr) return;
      const auto clock = clocks.find(rank);
      const Nanoseconds own = clock == clocks.end() ? event->begin : clock->second.of(event->begin);
      const Nanoseconds begin = event->begin == node.begin ? work.begin : std::min(own, work.begin);
      spans[event] = {begin, event->end + work.end - node.end};
    };
    const int receiver = graph_.ranks()[node.rank].number;
    const JobGraph::Id maker = node.inputs[0];
    place(message.receive, receiver);
    place(message.send,
          maker == JobGraph::kNone ? receiver : graph_.ranks()[graph_.node(maker).rank].number);
  }
  Timeline result = timeline_;
  std::erase_if(result.tracks, [](const Track& track) { return track.lane == kBubbleLane; });
  std::size_t next = 0;  // of the result's tracks
  for (const Track& track : timeline_.tracks) {
    if (track.lane == kBubbleLane) continue;
    std::vector<Event>& events = result.tracks[next++].events;
    const auto clock = clocks.find(track.rank);
    for (std::size_t i = 0; i < events.size(); ++i) {
      Event& event = events[i];
      if (const auto span = spans.find(&track.events[i]); span != spans.end()) {
        event.begin = span->second.begin;
        event.end = std::max(span->second.begin, span->second.end);
      } else if (clock != clocks.end()) {
        event.begin = clock->second.of(event.begin);
        event.end = clock->second.of(event.end);
      }
    }
  }
  for (CounterSeries& counter : result.counters) {
    const auto clock = clocks.find(counter.rank);
    if (clock == clocks.end()) continue;
    for (CounterSample& sample : counter.samples) sample.time = clock->second.of(sample.time);
  }
  result.sort();
  return result;
}

}  // namespace pipetrace
