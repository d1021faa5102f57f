#include "trace/timeline.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <tuple>
#include <utility>

#include "trace/append.h"
#include "trace/threads/in_parallel.h"

namespace pipetrace {
namespace {

int laneRank(std::string_view lane) {
  if (lane == kComputeLane) return 0;
  if (lane == kBubbleLane) return 1;
  return 2;
}

/// Sorts events; those of equal times keep their order. Most logs are in order already. For the
/// others only positions are sorted: copies of all events would double the memory.
void sortEvents(std::vector<Event>& events) {
  if (std::is_sorted(events.begin(), events.end(), startsBefore)) return;
  std::vector<std::uint32_t> from(events.size());
  std::iota(from.begin(), from.end(), 0U);
  std::sort(from.begin(), from.end(), [&](std::uint32_t a, std::uint32_t b) {
    if (startsBefore(events[a], events[b])) return true;
    return !startsBefore(events[b], events[a]) && a < b;
  });
  // Moves the event at from[i] to position i, cycle by cycle, with one event aside for each cycle.
  for (std::uint32_t start = 0; start < from.size(); ++start) {
    if (from[start] == start) continue;
    const Event aside = events[start];
    std::uint32_t to = start;
    while (from[to] != start) {
      events[to] = events[from[to]];
      to = std::exchange(from[to], to);
    }
    events[to] = aside;
    from[to] = to;
  }
}

std::size_t hashOf(int rank, std::string_view lane) {
  return std::hash<std::string_view>()(lane) * 31 + static_cast<std::size_t>(rank);
}

}  // namespace

bool laneComesBefore(std::string_view a, std::string_view b) {
  return std::make_tuple(laneRank(a), a) < std::make_tuple(laneRank(b), b);
}

Track& Timeline::track(int rank, std::string_view lane) {
  constexpr std::size_t kMany = 64;
  const bool areMany = tracks.size() >= kMany;
  Track* const known =
      areMany ? trackInTable(rank, lane) : const_cast<Track*>(findTrack(rank, lane));
  if (known != nullptr) return *known;
  ranks[rank].rank = rank;
  Track& added = tracks.emplace_back();
  added.rank = rank;
  added.lane = std::string(lane);
  if (areMany) addToTable(tracks.size() - 1);
  return added;
}

Track* Timeline::trackInTable(int rank, std::string_view lane) {
  const std::size_t hash = hashOf(rank, lane);
  bool isCurrent = table_.first == tracks.data() && table_.count == tracks.size();
  while (true) {
    if (!isCurrent) {
      table_ = TrackTable();
      for (std::size_t i = 0; i < tracks.size(); ++i) addToTable(i);
    }
    bool hasMoved = false;  // a track of the table is at another place now
    const auto [from, to] = table_.places.equal_range(hash);
    for (auto place = from; place != to; ++place) {
      Track& t = tracks[place->second];
      if (t.rank == rank && t.lane == lane) return &t;
      hasMoved = hasMoved || hashOf(t.rank, t.lane) != hash;
    }
    if (isCurrent && hasMoved) {
      isCurrent = false;
      continue;
    }
    return nullptr;
  }
}

void Timeline::addToTable(std::size_t place) {
  table_.places.emplace(hashOf(tracks[place].rank, tracks[place].lane), place);
  table_.first = tracks.data();
  table_.count = tracks.size();
}

const Track* Timeline::findTrack(int rank, std::string_view lane) const {
  for (const Track& t : tracks) {
    if (t.rank == rank && t.lane == lane) return &t;
  }
  return nullptr;
}

void Timeline::setArguments(Event& event, std::span<const Argument> list) {
  pipetrace::setArguments(event, list, arguments);
}

void Timeline::addArguments(Event& event, std::span<const Argument> list) {
  const auto old = argumentsOf(event);
  std::vector<Argument> all(old.begin(), old.end());
  all.insert(all.end(), list.begin(), list.end());
  setArguments(event, all);
}

std::span<const Argument> Timeline::argumentsOf(const Event& event) const {
  if (event.argumentCount == 0) return {};
  return std::span(arguments).subspan(event.firstArgument, event.argumentCount);
}

void Timeline::sort(int threads) {
  inParallel(threads, tracks.size(), [&](std::size_t t) { sortEvents(tracks[t].events); });
  std::stable_sort(tracks.begin(), tracks.end(), [](const Track& a, const Track& b) {
    return a.rank != b.rank ? a.rank < b.rank : laneComesBefore(a.lane, b.lane);
  });
  for (CounterSeries& c : counters) {
    std::stable_sort(
        c.samples.begin(), c.samples.end(),
        [](const CounterSample& a, const CounterSample& b) { return a.time < b.time; });
  }
  std::stable_sort(counters.begin(), counters.end(),
                   [](const CounterSeries& a, const CounterSeries& b) {
                     return std::tie(a.rank, a.name) < std::tie(b.rank, b.name);
                   });
}

Timeline::Span Timeline::span(int threads) const {
  std::vector<Span> spans(tracks.size(), Span{kNsMax, kNsMin});
  inParallel(threads, tracks.size(), [&](std::size_t t) {
    Span span = spans[t];
    for (const Event& e : tracks[t].events) {
      span.begin = std::min(span.begin, e.begin);
      span.end = std::max(span.end, e.end);
    }
    spans[t] = span;
  });
  Span whole{kNsMax, kNsMin};
  for (const Span& span : spans) {
    whole.begin = std::min(whole.begin, span.begin);
    whole.end = std::max(whole.end, span.end);
  }
  for (const CounterSeries& c : counters) {
    for (const CounterSample& s : c.samples) {
      whole.begin = std::min(whole.begin, s.time);
      whole.end = std::max(whole.end, s.time);
    }
  }
  return whole.begin > whole.end ? Span{} : whole;
}

std::size_t Timeline::eventCount() const {
  std::size_t count = 0;
  for (const Track& t : tracks) count += t.events.size();
  return count;
}

Phase countedPhaseOf(const Timeline& timeline) {
  std::optional<Phase> found;
  for (const Track& track : timeline.tracks) {
    for (const Event& event : track.events) {
      if (!isCompute(event.kind)) continue;
      if (event.phase == Phase::kTraining) return Phase::kTraining;
      if (!found || event.phase < *found) found = event.phase;
    }
  }
  return found.value_or(Phase::kTraining);
}

}  // namespace pipetrace
