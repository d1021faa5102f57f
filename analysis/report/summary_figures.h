#pragma once

#include <variant>
#include <vector>

#include "analysis/run_summary.h"

namespace pipetrace {

/// A number of the summary as both reports show it.
struct SummaryFigure {
  const char* key;      ///< in the JSON; ends with _ns if it is a time
  const char* heading;  ///< of its column in the tables for people; empty: not shown there
  std::variant<Nanoseconds, double> value;  ///< a time or a ratio
};

/// The figures of a rank or of a step, in the order in which the reports show them.
std::vector<SummaryFigure> figuresOf(const RankSummary& rank);
std::vector<SummaryFigure> figuresOf(const StepSummary& step);

}  // namespace pipetrace
