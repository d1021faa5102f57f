#pragma once

#include "profiler/job.h"

namespace pipetrace {

/// Someone besides the recorder who is told of a rank's compute jobs: tools that tie what happens
/// on a device to them. On the thread that runs the jobs.
class JobTrack {
 public:
  virtual ~JobTrack() = default;
  virtual void begin(const Job& job) noexcept = 0;
  virtual void end() noexcept = 0;
};

}  // namespace pipetrace
