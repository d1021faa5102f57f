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

/// Of the steps that are `given`, or of all, those in which all ranks have compute jobs. Without
/// given ones no rank may lack jobs.
UsableSteps usableSteps(const Timeline& timeline, const JobGraph& graph, const Topology& topology,
                        std::span<const std::int32_t> given, int threads);

}  // namespace pipetrace
