#pragma once

#include <span>
#include <string>
#include <vector>

#include "analysis/causes/inside_times.h"

namespace pipetrace {

/// What ranks wait inside jobs for the last members of collectives, as a heat map: a row for each
/// rank, a column for each place in the job (a layer has one or a few), micro-batch or step.
struct WaitingMap {
  struct Row {
    int rank = 0;
    std::vector<Nanoseconds> waiting;  ///< by column
  };

  bool isOwn = false;  ///< it has the own time of jobs in place of waiting
  WaitsBy by = WaitsBy::kPlace;
  std::string title;  ///< "waiting by place in the job"
  std::vector<WaitsKey> keys;
  std::vector<std::string> columns;  ///< the keys in words: "forward 1", with a no-break space
  std::vector<Row> rows;             ///< by rank; those that have jobs
  Nanoseconds longest = 0;           ///< of all cells
  Nanoseconds least = 0;             ///< of own time: the shortest; of waiting 0
};

/// The maps of a run that have something to show: more than one column, and some waiting. Times are
/// of a step, in the mean of those that count; by step they are of that step.
std::vector<WaitingMap> waitingMaps(std::span<const InsideTimes> times);

/// The own time of ranks by micro-batch, of a step in the mean: it shows who makes the others wait.
WaitingMap ownTimeMap(std::span<const InsideTimes> times);

}  // namespace pipetrace
