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
};

/// Draws the jobs of `track` as described at textChart().
TextRow textRow(const Track& track, const TextScale& scale, const JobText& labels);

}  // namespace pipetrace
