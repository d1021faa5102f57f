#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "chart/chart_model.h"
#include "chart/chart_view.h"
#include "chart/statistics/own_times.h"
#include "trace/event.h"
#include "trace/timeline.h"

namespace pipetrace {

/// Says what the lines of a table of statistics are.
enum class StatisticsBy : std::uint8_t { kKind, kStage, kRank, kBubbleClass };

/// Which events count in the lines.
enum class StatisticsOf : std::uint8_t { kAll, kJobs, kTransfers, kOperators };

/// What a kind of events is: jobs of the compute lane, messages and collectives, or all else, such
/// as operators, kernels and copies. Not kAll.
constexpr StatisticsOf groupOf(JobKind kind) {
  if (isComputeLane(kind)) return StatisticsOf::kJobs;
  return isTransfer(kind) || isCollective(kind) ? StatisticsOf::kTransfers
                                                : StatisticsOf::kOperators;
}

/// Events with one key are summed up together. It holds kind, bubble class and stage.
constexpr std::uint64_t sumsKey(JobKind kind, BubbleClass bubbleClass, std::int32_t stage) {
  return static_cast<std::uint64_t>(kind) << 40U | static_cast<std::uint64_t>(bubbleClass) << 32U |
         static_cast<std::uint32_t>(stage);
}

/// The line in which events with such a key on a rank count: a kind, stage, rank or bubble class as
/// a number. Nothing where they count in none: bubbles have no stage, and jobs no class. Bubbles do
/// not count in the lines of ranks, either, so that these say how long the ranks did something.
/// Nor do events that `of` leaves out; bubbles count as all classes or kinds ask for.
std::optional<std::int32_t> lineOf(StatisticsBy by, std::uint64_t key, int rank,
                                   StatisticsOf of = StatisticsOf::kAll);
/// The kind in a key.
constexpr JobKind kindOfKey(std::uint64_t key) { return static_cast<JobKind>(key >> 40U & 0xFFU); }

/// Returns the name of a line: "backward input", "stage 3", "no stage", "rank 3", "peer wait".
std::string lineName(StatisticsBy by, std::int32_t line);

/// Adds times; stays at the largest number instead of going beyond it.
inline Nanoseconds addedTimes(Nanoseconds a, Nanoseconds b) {
  Nanoseconds sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? kNsMax : sum;
}

/// Sums over events that are at least partly in a stretch of time.
struct EventSums {
  std::size_t count = 0;
  Nanoseconds inside = 0;         ///< the parts of the events that are in the stretch
  Nanoseconds own = 0;            ///< of these, without the events inside them (OwnTimes)
  Nanoseconds whole = 0;          ///< the whole events
  Nanoseconds shortest = kNsMax;  ///< whole duration of an event
  Nanoseconds longest = kNsMin;

  void add(Nanoseconds duration, Nanoseconds part, Nanoseconds ownPart) {
    ++count;
    inside = addedTimes(inside, part);
    own = addedTimes(own, ownPart);
    whole = addedTimes(whole, duration);
    shortest = std::min(shortest, duration);
    longest = std::max(longest, duration);
  }
  void add(const EventSums& other) {
    count += other.count;
    inside = addedTimes(inside, other.inside);
    own = addedTimes(own, other.own);
    whole = addedTimes(whole, other.whole);
    shortest = std::min(shortest, other.shortest);
    longest = std::max(longest, other.longest);
  }
  /// The mean of the whole durations; 0 for no event.
  double mean() const {
    return count == 0 ? 0 : static_cast<double>(whole) / static_cast<double>(count);
  }
};

/// Whether an event is at least partly in [begin, end). One without a length is, if it begins
/// there.
inline bool isIn(const Event& event, Nanoseconds begin, Nanoseconds end) {
  if (event.begin == event.end) return event.begin >= begin && event.begin < end;
  return event.begin < end && event.end > begin;
}

/// Sums over blocks of events of each track, so that the sums of an area do not take a look at each
/// of its events. Building it reads all events once. Refers to the timeline, which must be sorted,
/// outlive it and stay as it is. Immutable: several threads may read it.
class StatisticsIndex {
 public:
  static constexpr std::size_t kBlock = 512;  ///< events of a block

  /// `threads`: 0 for one per core. Once `stop` is set, the index is made no further and must not
  /// be used.
  explicit StatisticsIndex(const Timeline& timeline, int threads = 0,
                           const std::atomic<bool>* stop = nullptr);

  struct Block {
    Nanoseconds firstBegin = 0;
    Nanoseconds lastEnd = 0;                                ///< the latest end
    std::vector<std::pair<std::uint64_t, EventSums>> sums;  ///< by sumsKey()
    // The compute jobs before the block cover busyBefore, and none ends after busyUpTo.
    Nanoseconds busyBefore = 0;
    Nanoseconds busyUpTo = kNsMin;
    bool isFlat = true;  ///< no event begins before another one of the block has ended

    bool meets(const Timeline::Span& time) const {
      return firstBegin < time.end && lastEnd >= time.begin;
    }
    bool isInside(const Timeline::Span& time) const {
      return firstBegin >= time.begin && lastEnd < time.end;
    }
  };

  const Timeline& timeline() const { return *timeline_; }
  const std::vector<Block>& blocks(std::size_t track) const { return tracks_[track]; }
  /// The positions of the block's events on the track.
  std::pair<std::size_t, std::size_t> eventsOf(std::size_t track, std::size_t block) const;

  /// The time before `time` in which the track has compute jobs. Jobs that overlap count once.
  Nanoseconds busyBefore(std::size_t track, Nanoseconds time) const;

  /// The own times of a track's events; null where none is inside another one: then they are the
  /// durations.
  const OwnTimes* ownTimes(std::size_t track) const { return own_[track].get(); }

 private:
  void addBusy(std::size_t track);
  void addOwn(std::size_t track);

  const Timeline* timeline_;
  std::vector<std::vector<Block>> tracks_;
  std::vector<std::unique_ptr<const OwnTimes>> own_;  // by track
};

/// An area as the tracks of a timeline know it.
struct AreaTracks {
  Timeline::Span time;
  std::vector<std::size_t> tracks;  ///< indices into Timeline::tracks, ascending
  std::size_t computeRows = 0;      ///< how many of the tracks are compute lanes
};

/// The tracks that the rows of the area show: their lanes, and in a compute row the rank's bubbles.
AreaTracks tracksOf(const ChartModel& model, const ChartArea& area);

/// Counts and sums of the events that are at least partly in an area.
struct AreaSums {
  struct OfTrack {
    int rank = 0;
    std::vector<std::pair<std::uint64_t, EventSums>> sums;  ///< by sumsKey()
  };
  AreaTracks area;
  std::vector<OfTrack> tracks;  ///< those of the area
  /// The time in which the compute rows run compute jobs, and that of their bubbles: over whole
  /// steps these are busy and idle time as reports have them.
  Nanoseconds busy = 0;
  Nanoseconds idle = 0;
};

/// Uses that many threads (0: one per core), which makes no difference to the result. It does not
/// matter after `stop` is set.
AreaSums sumsOf(const StatisticsIndex& index, const AreaTracks& area, int threads,
                const std::atomic<bool>& stop);

/// One line of a table of statistics.
struct StatisticsLine {
  std::int32_t line = 0;
  EventSums sums;
};

/// The lines of a table, in the order of their numbers.
std::vector<StatisticsLine> linesOf(const AreaSums& sums, StatisticsBy by,
                                    StatisticsOf of = StatisticsOf::kAll);

}  // namespace pipetrace
