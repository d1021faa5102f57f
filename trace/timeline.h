#pragma once

#include <algorithm>
#include <cassert>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "trace/event.h"
#include "trace/nanoseconds.h"
#include "trace/rank_info.h"
#include "trace/strings/string_table.h"
#include "trace/track.h"

namespace pipetrace {

struct CounterSample {
  Nanoseconds time = 0;
  double value = 0;
};

/// One counter of one rank (memory, queue depth, loss): samples in time order.
struct CounterSeries {
  int rank = 0;
  std::string name;
  std::string unit;  ///< "bytes", …; empty for a plain number
  std::vector<CounterSample> samples;
};

/// All events and counters of a run, with the strings and arguments that its events refer to. A
/// plain value. Not thread-safe while it is being changed.
class Timeline {
 public:
  StringTable strings;
  std::vector<Track> tracks;
  std::vector<Argument> arguments;
  std::map<int, RankInfo> ranks;  ///< by rank; has an entry for every rank with a track
  std::vector<CounterSeries> counters;

  /// The track of (rank, lane), which is made if missing. The reference is valid until the next
  /// track is made. It keeps a table of many tracks, and makes another one when `tracks` was
  /// changed otherwise. Whoever gives many tracks other ranks or lanes does not call it after that.
  Track& track(int rank, std::string_view lane);
  const Track* findTrack(int rank, std::string_view lane) const;

  /// Appends the arguments and points `event` to them. Arguments after the first 65535 are dropped.
  void setArguments(Event& event, std::span<const Argument> list);
  /// The same, after those that it has.
  void addArguments(Event& event, std::span<const Argument> list);
  std::span<const Argument> argumentsOf(const Event& event) const;

  /// Orders tracks by rank and lane, events by startsBefore, counters by rank, name and time.
  /// Readers call it last; all other code relies on the order. `threads`: the number of tracks that
  /// are sorted at once (0: one per core).
  void sort(int threads = 1);

  /// First begin and last end over all events and counters; {0, 0} when there are none.
  struct Span {
    Nanoseconds begin = 0;
    Nanoseconds end = 0;
  };
  Span span(int threads = 1) const;

  std::size_t eventCount() const;

 private:
  /// Finds tracks by rank and lane. Copies are empty.
  struct TrackTable {
    TrackTable() = default;
    TrackTable(const TrackTable& /*other*/) {}
    TrackTable(TrackTable&& other) noexcept { swap(other); }
    TrackTable& operator=(TrackTable other) noexcept {
      swap(other);
      return *this;
    }
    ~TrackTable() = default;

    void swap(TrackTable& other) noexcept {
      places.swap(other.places);
      std::swap(first, other.first);
      std::swap(count, other.count);
    }

    std::unordered_multimap<std::size_t, std::size_t> places;  // by hash
    const Track* first = nullptr;                              // of the tracks that it has
    std::size_t count = 0;
  };

  Track* trackInTable(int rank, std::string_view lane);
  void addToTable(std::size_t place);

  TrackTable table_;
};

/// The tracks of a rank, by lane, of a timeline that is sorted (Timeline::sort()).
inline std::span<const Track> tracksOf(const Timeline& timeline, int rank) {
  assert(std::is_sorted(timeline.tracks.begin(), timeline.tracks.end(),
                        [](const Track& a, const Track& b) { return a.rank < b.rank; }));
  const auto begin = std::partition_point(timeline.tracks.begin(), timeline.tracks.end(),
                                          [&](const Track& track) { return track.rank < rank; });
  const auto end = std::partition_point(begin, timeline.tracks.end(),
                                        [&](const Track& track) { return track.rank == rank; });
  return {begin, end};
}

/// The phase that the figures of a run are about: training if it has a compute job of that, else
/// evaluate if it has one, else predict. Training if it has none. Looks at events up to the first
/// compute job of training.
Phase countedPhaseOf(const Timeline& timeline);

}  // namespace pipetrace
