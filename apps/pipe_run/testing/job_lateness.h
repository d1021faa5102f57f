#pragma once

#include <cstdint>

#include "trace/nanoseconds.h"
#include "trace/timeline.h"

namespace pipetrace {

/// How many compute jobs of a run began late.
struct JobLateness {
  std::int64_t jobs = 0;
  std::int64_t late = 0;

  double share() const {
    return jobs == 0 ? 0 : static_cast<double>(late) / static_cast<double>(jobs);
  }
};

/// Compares when each compute job began with when it could. That is after the job before it on its
/// lane, after that job's sends had begun (they may wait for a credit), and after its own receives.
/// It is late if it began more than `tolerance` after them. A rank's first job has none before it,
/// and is not counted without a receive.
JobLateness latenessOf(const Timeline& run, Nanoseconds tolerance);

}  // namespace pipetrace
