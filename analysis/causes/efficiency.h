#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include "analysis/run/bubbles/run_basis.h"
#include "analysis/run/steps/interval.h"

namespace pipetrace {

/// How well a step used its ranks. parallel = loadBalance · communication (POP metrics, "POP
/// Standard Metrics for Parallel Performance Analysis"); u: a rank's busy time in the window, T:
/// the window's length.
struct StepEfficiency {
  double parallel = 0;       ///< mean(u) / T = 1 − bubble ratio
  double loadBalance = 0;    ///< mean(u) / max(u)
  double communication = 0;  ///< max(u) / T
  /// Length of the step's own order, run with the medians of each stage and kind and free
  /// messages, over T. 0 where jobs of the step are missing.
  double schedule = 0;
  Nanoseconds planned = 0;  ///< that length
};

/// The efficiency of a pipeline's steps, by its windows. `steps`: the summaries of the windows from
/// `first` on; there may be fewer than windows.
std::vector<StepEfficiency> efficiencyOf(const PipelineBasis& pipeline,
                                         const std::vector<const StepSummary*>& steps,
                                         std::size_t first = 0);

/// Time that messages and collectives took, over all ranks. A message counts from the later of its
/// two starts, at both of its ends; what comes before is a wait. Kernels inside of jobs do not
/// count. (After Meta's Holistic Trace Analysis.)
struct CommunicationTime {
  Nanoseconds all = 0;
  Nanoseconds exposed = 0;  ///< while the rank ran no compute job

  /// The share under which a compute job ran; 0 without communication.
  double overlap() const {
    return all > 0 ? static_cast<double>(all - exposed) / static_cast<double>(all) : 0.0;
  }
};

/// The communication inside of windows. `windows`: of each replica, in any order. Several threads
/// share the messages if there are at least `manyMessages`.
CommunicationTime communicationOf(const Timeline& timeline, const JobGraph& graph,
                                  const std::map<int, std::vector<Interval>>& windows,
                                  int threads = 1, std::size_t manyMessages = 100'000);

}  // namespace pipetrace
