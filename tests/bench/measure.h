#pragma once

#include <functional>
#include <vector>

namespace pipetrace::bench {

/// The cost of a piece of work that ran as a process of its own.
struct Cost {
  double seconds = 0;     ///< from its start to its end
  double cpuSeconds = 0;  ///< of all its threads, including time in the kernel
  double peakMiB = 0;     ///< of resident memory
};

/// Does the work in a child process. Throws Error when it fails there.
Cost measure(const std::function<void()>& work);

/// The median of each figure.
Cost median(std::vector<Cost> costs);

}  // namespace pipetrace::bench
