#pragma once

#include <string>

#include "analysis/present/diff_report.h"
#include "analysis/present/run_report.h"

namespace pipetrace {

/// Two runs and their comparison, for a page.
struct DiffPageOptions {
  const DiffReport& diff;
  /// The runs of `diff`, with the same ranks and steps (leaveRanksOfBoth(), ExplainOptions::steps).
  const RunReport& a;
  const RunReport& b;
  std::string version;  ///< of the program that writes the page
};

/// The comparison as a page. First come the answer, what explains it and what it rests on; then
/// both runs beside each other, as runPage() shows one. The charts of their median steps have one
/// time scale, and their other charts and tables one scale each. Takes time proportional to the
/// number of events. Both runs must have ranks that compute.
std::string diffPage(const DiffPageOptions& options);

}  // namespace pipetrace
