#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "analysis/run/steps/counted_steps.h"
#include "analysis/run_summary.h"
#include "trace/timeline.h"
#include "trace/topology.h"

namespace pipetrace {

/// How long a step of a run takes: the one figure of that meaning in reports, pages, advice,
/// what-ifs and comparisons (docs/metrics.md, "The step of a run"). It is the median of the
/// windows, and of the wall times, of the steps that count and have all their jobs; of all that
/// count where none has. Each pipeline's window is one value.
struct MedianStep {
  Nanoseconds window = 0;  ///< 0: no step counts
  /// The median time from a window to the next step, of those that are followed by another; empty:
  /// none is, so that nobody knows what passes between steps.
  std::optional<Nanoseconds> between;
  /// The median of their wall times. Steps that are not followed, as the last one, count with
  /// `between`. Empty: nobody knows what passes between steps.
  std::optional<Nanoseconds> wall;
  /// The step with the window that is nearest to the median: of an even count the shorter of the
  /// middle two, of windows as long the first. kNotGiven without steps.
  std::int32_t step = kNotGiven;
  std::size_t count = 0;    ///< how many steps it is of; a step of several pipelines is one
  bool isWholeRun = false;  ///< the run is asynchronous: the step is the whole window of the run

  bool areFollowed = false;  ///< half of the steps or more are followed by another

  /// Whether more than a hundredth of the wall time is in no window, as in pauses, or where one
  /// pipeline loads data while another has begun its step. Then the wall time is that of which
  /// changes save a share; else it is the window.
  bool hasPauses() const { return wall && areFollowed && (*wall - window) * 100 > *wall; }
  Nanoseconds paid() const { return hasPauses() ? *wall : window; }
};

/// `counted`: of the run; where it holds steps that lack jobs, these are left out here.
MedianStep medianStepOf(const RunSummary& run, const CountedSteps& counted);
/// The same of the phase that counts in a completed timeline (countedPhaseOf()). Runs on the
/// calling thread.
MedianStep medianStepOf(const Timeline& timeline, const Topology& topology,
                        const CountedSteps& counted);

/// How long a step takes in the mean over those that count, with all pipelines together: from the
/// first begin in any of them to the last end of a window in any. Predictions are compared by it,
/// as parts of a mean add up. ns.
struct MeanStep {
  double window = 0;  ///< 0: no step counts
  /// From its first begin to that of the next step, of those that are followed by another; empty:
  /// none is.
  std::optional<double> wall;

  /// The wall time where MedianStep::hasPauses() says so, else the window.
  double paid(bool isOfWall) const { return isOfWall ? wall.value_or(window) : window; }
};

MeanStep meanStepOf(const RunSummary& run, const CountedSteps& counted);
/// The same of the phase that counts in a completed timeline.
MeanStep meanStepOf(const Timeline& timeline, const Topology& topology,
                    const CountedSteps& counted);

}  // namespace pipetrace
