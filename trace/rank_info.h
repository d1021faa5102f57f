#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trace/nanoseconds.h"

namespace pipetrace {

/// One `Profiler Clock:` line: rank 0's clock = this rank's clock + offset, to within bound.
struct ClockReading {
  Nanoseconds when = 0;
  Nanoseconds offset = 0;
  Nanoseconds bound = 0;
};

/// What a rank's log says of the rank and of the run (`Profiler Meta:`, `Profiler Clock:`,
/// `Profiler End:`). Fields that the log did not give are empty. log/rank_info_fields.h lists all.
struct RankInfo {
  int rank = 0;
  std::optional<int> worldSize;
  std::string host;
  std::string device;
  std::optional<int> numStages;  ///< virtual stages: pipeline ranks * chunks
  std::optional<int> numChunks;
  std::optional<int> numMicroBatches;
  std::optional<int> firstStep;  ///< of a log whose jobs name no steps: which one the first is
  std::string schedule;
  std::optional<int> dataParallelIndex;
  std::string clock;
  std::optional<double> flopsPerStep;
  std::optional<double> tokensPerStep;
  std::vector<ClockReading> clockReadings;
  int runs = 1;              ///< that its log holds, of which this is one
  bool isRecording = false;  ///< its recorder was at it when the log was read
  bool isSelected = false;   ///< of a profile that was asked to hold some of the run's ranks only

  bool hasEnd = false;  ///< a `Profiler End:` line was there: the log is whole
  std::int64_t written = 0;
  std::int64_t dropped = 0;
  std::int64_t errors = 0;        ///< of which:
  std::int64_t misuses = 0;       ///< calls out of turn, and what else the program did wrong
  std::int64_t failedWrites = 0;  ///< to the log
  std::int64_t lateStarts = 0;    ///< emulated jobs that began later than planned
  Nanoseconds ownCost = 0;        ///< time of the training threads that recording took
  Nanoseconds logThreadCost = 0;  ///< processor time of the thread that wrote the log
};

}  // namespace pipetrace
