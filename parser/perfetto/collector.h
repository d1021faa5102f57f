#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "parser/perfetto/event.h"
#include "parser/profile/profile_metadata.h"
#include "parser/profile/slice_matcher.h"
#include "parser/trace_reader.h"

namespace pipetrace {

/// The contents of a TrackDescriptor.
struct PerfettoTrack {
  std::uint64_t parent = 0;
  std::string name;
  std::optional<std::int64_t> pid;  ///< the track is a process, or a thread of it
  std::optional<std::int64_t> tid;  ///< the track is a thread
  std::string processName;
  std::string threadName;
  std::int64_t orderRank = 0;
  bool isCounter = false;
  bool isIncremental = false;  ///< a counter's values are differences
  std::int64_t multiplier = 1;
  std::string unit;
};

/// Gathers the events of one Perfetto trace by track, in any order, and makes tracks of a timeline
/// of them once everything is known.
class PerfettoCollector {
 public:
  /// The references must outlive it. `file` names the input in diagnostics.
  PerfettoCollector(Timeline& timeline, Diagnostics& diagnostics, std::string file)
      : timeline_(timeline), diagnostics_(diagnostics), file_(std::move(file)) {}

  /// Adds a serialized TrackDescriptor or ChromeEventBundle. Throws protozero::exception.
  void addDescriptor(std::string_view message);
  void addMetadata(std::string_view message);

  /// One event at `time`; its type is begin, end, counter or instant.
  void add(std::uint64_t track, const PerfettoEvent& event, Nanoseconds time);

  /// Adds everything to the timeline and returns the number of events. Call it once.
  std::int64_t finish(const ReadRequest& request);

  /// RecordedProcess::isRankGuessed, after finish().
  bool isRankGuessed() const { return isRankGuessed_; }

 private:
  static constexpr std::uint32_t kNothing = ~std::uint32_t{0};

  struct Row {
    std::vector<Event> events;
    std::vector<Event> ends;  // only those that have fields themselves
    /// The index of a begin is its place in `events`; of an end in `ends`, or kNothing.
    std::vector<SliceEdge> edges;
    std::vector<CounterSample> samples;
    double level = 0;  // of a counter that counts in differences
  };

  /// The place of a track of the file in the timeline.
  struct Place {
    int rank = 0;
    std::string name;
  };

  /// A process, or a track at the top, which becomes a rank.
  struct Group {
    std::string name;
    std::int64_t orderRank = 0;
    std::vector<std::uint64_t> tracks;
  };
  using GroupKey = std::pair<int, std::int64_t>;

  void matchEdges(Row& row);
  void shift(Row& row, Nanoseconds origin);
  using Counters = std::map<std::pair<int, std::string>, CounterSeries>;
  std::int64_t move(Row& row, const Place& place, const std::string& unit, Counters& counters);
  void addCounters(Counters& counters);
  std::int64_t finishOurs();
  std::int64_t finishForeign(const ReadRequest& request);
  GroupKey groupOf(std::uint64_t uuid, Group& group) const;
  std::string laneOf(std::uint64_t uuid) const;
  void complain(const char* message, const char* advice = "", std::int64_t count = 1);

  Timeline& timeline_;
  Diagnostics& diagnostics_;
  std::string file_;
  std::optional<ProfileMetadata> metadata_;
  bool isRankGuessed_ = false;
  std::map<std::uint64_t, Place> places_;  // of our own tracks
  std::map<std::uint64_t, PerfettoTrack> tracks_;
  std::map<std::uint64_t, Row> rows_;
  std::uint64_t lastTrack_ = 0;  // the latest track looked up in rows_ ...
  Row* lastRow_ = nullptr;       // ... and its row
};

}  // namespace pipetrace
