#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "parser/job_log/lines/log_findings.h"
#include "parser/job_log/lines/missing_end.h"
#include "trace/timeline.h"

namespace pipetrace {

/// Where `Profiler Kernel:` lines go.
inline constexpr std::string_view kKernelsLane = "kernels";

/// A rank's share of a timeline, as far as one run in one log has been read. Strings are interned
/// in the table of the timeline that it is meant for.
struct LogRun {
  RankInfo info;
  bool hasMeta = false;
  std::optional<int> metaRank;  ///< as its Meta line says
  std::string ringFile;         ///< as its Meta line says; a name in the folder of the log
  MissingEnd missingEnd;        ///< if it lacks its end
  bool isLatest = true;         ///< no run of its rank follows in the log
  std::map<std::string, std::vector<Event>, std::less<>> lanes;
  std::vector<Argument> arguments;
  std::map<std::string, CounterSeries, std::less<>> counters;
  LogFindings findings;

  std::int64_t eventCount() const;
  bool lacksEnd() const { return hasMeta && !info.hasEnd; }

  /// Lines that were read and that the recorder which ended the log counts as `written`: not those
  /// of kernels and of NCCL. `strings` are those of the arguments.
  std::int64_t countedLines(const StringTable& strings) const;

  /// The events of a lane, made if missing. The reference holds as long as the run.
  std::vector<Event>& laneOf(std::string_view name);

  /// No events, arguments, samples and findings any more; their memory is kept for new ones.
  void clearEvents();

  /// Adds all of it to `timeline` as rank `rank`, and is empty afterwards.
  void moveTo(Timeline& timeline, int rank);
};

}  // namespace pipetrace
