#pragma once

#include <map>
#include <string>

#include "tests/bench/measure.h"

namespace pipetrace::bench {

/// The measurements of one row of the benchmark.
struct Measured {
  Cost ours;
  Cost bare;              ///< the work to compare with; all zero: none
  double inputBytes = 0;  ///< bytes that were read
  double jobs = 0;        ///< 0: they were not counted
};

/// The measurements by the name of the row.
using Measurements = std::map<std::string, Measured>;

/// Prints the goals of the converter, those beyond them, and the measurements. Leaves out goals
/// whose rows are missing.
void printGoals(const Measurements& rows);

}  // namespace pipetrace::bench
