#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "analysis/graph/job_graph.h"
#include "analysis/rerun/run_work.h"
#include "trace/timeline.h"

namespace pipetrace {

/// Why a what-if analysis of these steps would not be true, as a sentence without a full stop;
/// empty: it is. Uses that many threads.
std::string refusalOf(const Timeline& timeline, const JobGraph& graph, const RunWork& work,
                      std::span<const std::int32_t> steps, int threads);

}  // namespace pipetrace
