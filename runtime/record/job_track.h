#pragma once

#include "profiler/job.h"

namespace pipetrace {

/// Gets a rank's compute jobs beside the recorder: for tools that tie activity on a device to them.
/// Called on the thread that runs the jobs.
class JobTrack {
 public:
  virtual ~JobTrack() = default;
  virtual void begin(const Job& job) noexcept = 0;
  virtual void end() noexcept = 0;
};

}  // namespace pipetrace
