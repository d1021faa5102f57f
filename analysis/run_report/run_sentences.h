#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "analysis/run_report/run_report.h"

namespace pipetrace {

// The words that all forms of a report share. Texts of several lines end with a newline.

/// "1 finding", "3 findings".
std::string numbered(std::size_t count, const char* one, const char* many);

/// Lines about the run: ranks, steps and jobs, the schedule that it followed, its phases, and which
/// steps count.
std::string runHeadline(const RunReport& report);

/// The findings that a report shows, the most expensive first: all of them, or the first of those
/// that are not minor.
struct ShownFindings {
  std::vector<const Finding*> list;  ///< point into the report's explanation
  std::size_t left = 0;              ///< that are not minor, and not shown
};
ShownFindings shownFindings(const RunReport& report);

/// The line of a report without findings. A sentence without a full stop.
std::string noFindings(const Explanation& run);

/// The command that shows the evidence of a finding; empty where there is none.
std::string findCommandOf(const RunReport& report, const Finding& finding);

/// The parts of the critical path, and its stages; empty where it is not known.
std::string pathText(const Explanation& run);

/// How much slower the run is than its ideal, the stage, replica and kind that cost most of it, and
/// what the slowest ranks cost.
std::string slowdownText(const Explanation& run);

/// Communication, tokens a second and the use of the devices, as far as they are known.
std::string communicationText(const Explanation& run);

}  // namespace pipetrace
