#pragma once

#include <string>

#include "analysis/run_report/run_report.h"

namespace pipetrace {

/// A query that finds the evidence of a finding of the report, and nothing else; empty where there
/// is no evidence. pipe-view's search reads it.
std::string findQueryOf(const RunReport& report, const Finding& finding);

}  // namespace pipetrace
