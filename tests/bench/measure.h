#pragma once

#include <functional>
#include <vector>

namespace pipetrace::bench {

/// What a piece of work took as a process of its own.
struct Cost {
  double seconds = 0;     ///< from its start to its end
  double cpuSeconds = 0;  ///< of all its threads, those in the system included
  double peakMiB = 0;     ///< of resident memory
};

/// Does the work in a child process. Throws Error when it fails there.
Cost measure(const std::function<void()>& work);

/// Of each figure the median.
Cost median(std::vector<Cost> costs);

}  // namespace pipetrace::bench
