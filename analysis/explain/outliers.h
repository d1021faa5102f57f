#pragma once

#include "analysis/bubbles/bubbles.h"
#include "analysis/explain/link_times.h"
#include "analysis/explain/scattered_pauses.h"
#include "analysis/graph/usual_times.h"

namespace pipetrace {

/// Finds the messages and jobs that are too long to say anything about the others of their link, or
/// of their stage and kind. They take at least kManyTimes their median, and more than a tenth of a
/// median step. A link that was cut once makes such messages. So are jobs that pause
/// (ScatteredPauses), which also make others wait by beginning late.
class Outliers {
 public:
  static constexpr Nanoseconds kManyTimes = 10;

  /// All must outlive it. `stepLength`: MedianStep::window.
  Outliers(const JobGraph& graph, const UsualTimes& times, const LinkTimes& links,
           const ScatteredPauses& pauses, Nanoseconds stepLength)
      : graph_(graph), times_(times), links_(links), pauses_(pauses), least_(stepLength / 10) {}

  /// The message or job that makes the bubble's cause one of its own; else kNone.
  JobGraph::Id of(const Bubble& bubble) const;

 private:
  const JobGraph& graph_;
  const UsualTimes& times_;
  const LinkTimes& links_;
  const ScatteredPauses& pauses_;
  Nanoseconds least_;
};

}  // namespace pipetrace
