#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "parser/trace_reader.h"
#include "trace/timeline.h"

namespace pipetrace {

/// The facts about one file that show which run it is of.
struct FileFacts {
  std::string path;
  std::string_view format;  ///< TraceReader::formatName()
  bool isLog = false;       ///< a job log
  bool isOurs = false;      ///< a profile that pipe-trace wrote
  RecordedProcess process;
  std::map<int, Timeline::Span> ranks;  ///< each rank that has events, and their span
  Timeline::Span span{kNsMax, kNsMin};  ///< of all ranks
  std::int64_t events = 0;
  std::optional<int> worldSize;        ///< above 0
  std::string host;                    ///< of the first rank that names one
  std::int32_t firstStep = kNotGiven;  ///< the lowest step that an event has
  std::int32_t lastStep = kNotGiven;   ///< the highest
  bool hasForward = false;
  bool hasBackward = false;
  bool isRecording = false;  ///< its recorder has not ended

  /// Whether its times count from the epoch, as far as they show: they lie after the year 2000.
  bool isDated() const;
};

/// Whether all of one lies before all of the other; they may touch.
bool areApart(const Timeline::Span& a, const Timeline::Span& b);

/// Gathers the facts in `timeline`, which holds one file, on that many threads. Times of ranks
/// whose clocks were compared with rank 0's are those of rank 0's clock, to within the clocks'
/// drift. The caller sets the fields that are not in the timeline.
FileFacts factsOf(const Timeline& timeline, int threads);

}  // namespace pipetrace
