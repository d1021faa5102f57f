#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trace/timeline.h"

namespace pipetrace {

/// How the ranks are arranged, as far as logs and options say it. Nothing in it is inferred.
struct StatedTopology {
  std::optional<int> pipelineRanks;  ///< ranks of one pipeline: "pp"
  std::optional<int> replicas;       ///< pipelines: "dp"
  std::optional<int> chunks;         ///< stages on one rank: "vpp"

  bool isUnknown() const { return !pipelineRanks && !replicas && !chunks; }
};

/// What the times of a run are, as far as its logs say it.
struct StatedClock {
  std::vector<std::string> sources;  ///< `clock` of `Profiler Meta:`, each once, in their order
  bool hasReadings = false;          ///< any rank was compared with rank 0's clock
  bool aligned = false;              ///< all such ranks are in rank 0's clock
  Nanoseconds bound = 0;             ///< widest bound of a reading; an offset is that exact

  bool isUnknown() const { return sources.empty() && !hasReadings; }
};

/// What is in a timeline: the counts of `pipe-trace info`.
struct RunContents {
  std::int64_t ranks = 0;   ///< with an event or a counter sample
  std::int64_t runs = 1;    ///< in the log that holds most of them; in the timeline is one of them
  std::int64_t steps = 0;   ///< that compute jobs belong to, those of all replicas counted once
  std::int64_t jobs = 0;    ///< events of the compute lanes, and of their kinds on other lanes
  std::int64_t events = 0;  ///< all of them: jobs, transfers, kernels, bubbles, ...
  std::int64_t counters = 0;  ///< samples that are finite numbers
  Timeline::Span span;        ///< first begin and last end, since the Unix epoch
  StatedTopology topology;
  StatedClock clock;
};

StatedTopology statedTopology(const Timeline& timeline);

/// Of a completed timeline (completeTimeline()).
RunContents contentsOf(const Timeline& timeline);

}  // namespace pipetrace
