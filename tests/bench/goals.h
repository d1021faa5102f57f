#pragma once

#include <map>
#include <string>

#include "tests/bench/measure.h"

namespace pipetrace::bench {

/// What one row of the benchmark gave.
struct Measured {
  Cost ours;
  Cost bare;              ///< what it is measured against; all zero: nothing
  double inputBytes = 0;  ///< of what was read
  double jobs = 0;        ///< 0: they were not counted
};

/// By the name of the row.
using Measurements = std::map<std::string, Measured>;

/// Prints what the converter has to reach, and wants to, beside what was measured. Goals whose rows
/// are missing are left out.
void printGoals(const Measurements& rows);

}  // namespace pipetrace::bench
