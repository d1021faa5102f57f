#pragma once

#include <string>
#include <vector>

#include "chart/text/job_text.h"
#include "chart/text/text_scale.h"

namespace pipetrace {

/// A row of a text chart: the compute jobs of one rank.
struct TextRow {
  static constexpr JobKind kIdle = JobKind::kBubble;
  static constexpr char kShortJobs = ':';  ///< mostly idle time, and jobs too short to show

  std::string text;            ///< one character a column
  std::vector<JobKind> kinds;  ///< the kind in each column; kIdle: no job
  /// The class of the idle time in each column, also behind jobs that are no work; kNone: of none.
  std::vector<BubbleClass> classes;
};

/// Marks all-reduces in the idle time of a row, as far as there is room. "sum": gradients of a
/// stage are added up. "agr": it names no stage, and all ranks agree.
void markReductions(TextRow& row, const std::vector<const Event*>& reductions,
                    const TextScale& scale);

/// Draws the jobs of `track` as described at textChart(), with the rank's `bubbles` (nullptr: there
/// are none) where it has none.
TextRow textRow(const Track& track, const Track* bubbles, const TextScale& scale,
                const JobText& labels);

}  // namespace pipetrace
