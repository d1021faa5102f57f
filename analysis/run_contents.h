#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "trace/timeline.h"

namespace pipetrace {

/// The arrangement of the ranks, as far as logs and options give it. Nothing in it is inferred.
struct StatedTopology {
  std::optional<int> pipelineRanks;  ///< ranks of one pipeline: "pp"
  std::optional<int> replicas;       ///< data-parallel indices: "dp"
  std::optional<int> chunks;         ///< stages on one rank: "vpp"
  std::optional<int> tensorRanks;    ///< ranks that share the work of a stage: "tp"
  /// Topology::ranksOfStage: empty unless ranks share the micro-batches of a stage.
  std::vector<std::vector<int>> ranksOfStage;

  bool isUnknown() const { return !pipelineRanks && !replicas && !chunks && !tensorRanks; }
};

/// The clocks of a run's times, as far as its logs describe them.
struct StatedClock {
  std::vector<std::string>
      sources;               ///< `clock` of `Profiler Meta:`, each once, in the order of ranks
  bool hasReadings = false;  ///< a rank's clock was compared with rank 0's
  bool aligned = false;      ///< all ranks with a comparison are in rank 0's clock
  Nanoseconds bound = 0;     ///< widest bound of a reading: offsets are exact to within it

  bool isUnknown() const { return sources.empty() && !hasReadings; }
};

/// The contents of a timeline: the counts of `pipe-trace info`.
struct RunContents {
  std::int64_t ranks = 0;  ///< with an event or a counter sample
  std::int64_t runs = 1;   ///< in the log that has the most; the timeline holds one run
  std::int64_t steps = 0;  ///< with compute jobs; a step of several replicas counts once
  /// Those among them that are of other phases than training.
  std::map<Phase, std::int64_t> stepsOfPhase;
  std::int64_t jobs = 0;      ///< events of the compute lanes, and of the same kinds on other lanes
  std::int64_t events = 0;    ///< all of them: jobs, transfers, kernels, bubbles, ...
  std::int64_t counters = 0;  ///< samples that are finite numbers
  std::vector<std::string> counterNames;  ///< ascending, of those that have samples
  Timeline::Span span;                    ///< first begin and last end, since the Unix epoch
  StatedTopology topology;
  StatedClock clock;
};

StatedTopology statedTopology(const Timeline& timeline);

/// The contents of a completed timeline (completeTimeline()).
RunContents contentsOf(const Timeline& timeline);

}  // namespace pipetrace
