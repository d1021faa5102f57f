#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "parser/foreign/device_time/device_jobs.h"
#include "parser/foreign/device_time/launches.h"
#include "parser/foreign/kineto/categories.h"

namespace pipetrace {

/// How much work on devices belongs to jobs, and why the rest does not. Communication apart.
struct LaunchCounts {
  std::array<std::int64_t, static_cast<std::size_t>(LaunchOrigin::kCount)> work{};
  std::int64_t beforeLaunch = 0;  ///< began before their launch

  std::int64_t& operator[](LaunchOrigin origin) { return work[static_cast<std::size_t>(origin)]; }
  std::int64_t operator[](LaunchOrigin origin) const {
    return work[static_cast<std::size_t>(origin)];
  }
};

/// Gives each kernel and copy on the lanes the number of its job (Event::job), and `jobs` its time.
LaunchCounts readWork(std::span<ForeignTrace::Lane* const> lanes, const KinetoWords& words,
                      Launches& launches, int threads, DeviceJobs& jobs);

}  // namespace pipetrace
