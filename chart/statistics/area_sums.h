#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "chart/chart_model.h"
#include "chart/chart_view.h"
#include "chart/statistics/statistics_index.h"
#include "chart/statistics/statistics_line.h"

namespace pipetrace {

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
std::vector<StatisticsLine> linesOf(const AreaSums& sums, StatisticsBy by);

}  // namespace pipetrace
