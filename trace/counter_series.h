#pragma once

#include <string>
#include <vector>

#include "trace/nanoseconds.h"

namespace pipetrace {

struct CounterSample {
  Nanoseconds time = 0;
  double value = 0;
};

/// One counter of one rank (memory, queue depth, loss): samples in time order.
struct CounterSeries {
  int rank = 0;
  std::string name;
  std::string unit;  ///< "bytes", …; empty for a plain number
  std::vector<CounterSample> samples;
};

}  // namespace pipetrace
