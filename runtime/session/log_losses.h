#pragma once

#include <mutex>
#include <set>
#include <string>

#include "profiler/log/log_lost.h"

namespace pipetrace {

/// The job logs of this process that could not be written.
///
/// Threads: any.
class LogLosses {
 public:
  void add(const LogLost::Loss& loss);
  /// "the job logs of ranks 0 and 2 are incomplete from step 37 on: No space left on device";
  /// empty: there are none.
  std::string text() const;

 private:
  mutable std::mutex mutex_;
  std::set<int> ranks_;
  std::int32_t step_ = kNotGiven;  // the lowest
  std::string why_;                // of the first
};

}  // namespace pipetrace
