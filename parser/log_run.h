#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "parser/log_findings.h"
#include "trace/timeline.h"

namespace pipetrace {

/// What one run in one log has given so far: a rank's share of a timeline. Strings are interned in
/// the table of the timeline that it is meant for.
struct LogRun {
  RankInfo info;
  bool hasMeta = false;
  std::optional<int> metaRank;  ///< as its Meta line says
  std::map<std::string, std::vector<Event>, std::less<>> lanes;
  std::vector<Argument> arguments;
  std::map<std::string, CounterSeries, std::less<>> counters;
  LogFindings findings;

  std::int64_t eventCount() const;

  /// Adds all of it to `timeline` as rank `rank`, and is empty afterwards.
  void moveTo(Timeline& timeline, int rank);
};

}  // namespace pipetrace
