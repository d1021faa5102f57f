#pragma once

#include <atomic>
#include <cstdint>

namespace pipetrace {

/// How far loading is, for another thread to look at meanwhile.
struct LoadProgress {
  std::atomic<std::int64_t> bytesRead{0};
  std::atomic<std::int64_t> bytesInAll{0};  ///< of the files to read; 0: not known
};

}  // namespace pipetrace
