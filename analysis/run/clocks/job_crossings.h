#pragma once

#include <vector>

#include "analysis/run/clocks/host_clocks.h"

namespace pipetrace {

/// The evidence of jobs about the clocks of two ranks: none starts before its data is made. A
/// forward of a stage needs that of the stage before with the same step and micro-batch, a backward
/// or an input half that of the stage behind. `sent` is the end of the job that made the data,
/// `event` that job, and `received` is when the other one begins. Jobs that do not name step, stage
/// and micro-batch say nothing, nor do fused pairs and jobs in parts.
///
/// `timeline` need not be completed. It looks at the first `mostJobs` compute jobs of each rank.
/// Crossings between ranks of one host are left out.
std::vector<Crossing> jobCrossings(const Timeline& timeline, const std::vector<ClockHost>& hosts,
                                   std::size_t mostJobs = SIZE_MAX, int threads = 1);

/// Clocks of ranks that the order of jobs contradicts beyond doubt.
struct PlainlyApart {
  struct Pair {
    int maker = 0;  ///< rank
    int user = 0;   ///< rank
    Nanoseconds by = 0;
  };
  std::vector<Pair> pairs;
  bool areOnOneHost = false;  ///< some pair is, so that each rank has a clock of its own
};

/// The pairs of ranks of which one begins jobs by kPlainlyEarly before their data is made: at least
/// three jobs, or all of them. Ranks that did not run at the same time may be of several runs and
/// are left out. Looks at the first 4096 jobs of each rank.
PlainlyApart plainlyApart(const Timeline& timeline, int threads = 1);

inline constexpr Nanoseconds kPlainlyEarly = 100 * kNsPerUs;

}  // namespace pipetrace
