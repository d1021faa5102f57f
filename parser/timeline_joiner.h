#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "trace/diagnostic.h"
#include "trace/timeline.h"

namespace pipetrace {

/// Joins the timelines of several files to that of their run, so that no job counts twice. A lane
/// of a rank (a counter of a rank) is taken from the first file that has it. From a later file it
/// is left out, and reported with the names of both. A trace whose events all lie before or after
/// those of the other file is added to them, as tracers write a file for each period. A second job
/// log of a rank is always another run, or a copy.
class TimelineJoiner {
 public:
  /// The kind of a file. It decides what happens to events of a rank that another file holds.
  enum class Kind : std::uint8_t {
    kTrace,
    kProcess,  ///< a trace of one process; events at other times are no news then
    kLog,      ///< a job log
  };

  /// Adds the timeline of `file`, unsorted. Returns how many of its events were taken.
  std::int64_t add(Timeline part, const std::string& file, Kind kind, Diagnostics& diagnostics);

  /// The first rank that no file has taken.
  int nextRank() const;

  /// Everything so far, unsorted.
  const Timeline& timeline() const { return timeline_; }
  Timeline take() { return std::move(timeline_); }

 private:
  using Place = std::pair<int, std::string>;  // rank and lane, or name of a counter
  /// The file that gave a lane, and where the lane is.
  struct Given {
    std::string file;
    std::size_t index = 0;
  };
  /// The lanes of one rank that another file had given, with the events here.
  struct Clash {
    std::string lanes;
    std::int64_t events = 0;
  };
  using Clashes = std::map<std::pair<int, std::string>, Clash>;  // by rank and other file

  std::int64_t addTrack(Track track, const std::string& file, Kind kind);
  void addCounter(CounterSeries series, const std::string& file, Kind kind);
  void report(const std::string& file, Diagnostics& diagnostics);

  Timeline timeline_;
  std::map<Place, Given> tracks_;
  std::map<Place, Given> counters_;
  Clashes leftOut_;      // of the file that is being added
  Clashes putTogether_;  // of the file that is being added
};

}  // namespace pipetrace
