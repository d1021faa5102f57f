#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "analysis/graph/job_graph.h"
#include "trace/timeline.h"
#include "trace/topology.h"

namespace pipetrace {

/// The steps that the what-if analysis uses.
struct UsableSteps {
  std::vector<std::int32_t> steps;  ///< ascending
  std::string reason;               ///< why there are none
};

/// Finds the steps in which all ranks have compute jobs, of those that are `given`, or of all. With
/// none given no rank may lack jobs.
UsableSteps usableSteps(const Timeline& timeline, const JobGraph& graph, const Topology& topology,
                        std::span<const std::int32_t> given, int threads);

}  // namespace pipetrace
