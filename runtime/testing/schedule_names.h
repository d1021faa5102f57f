#pragma once

#include <cctype>
#include <string>
#include <vector>

#include "schedule/build_schedule.h"

namespace pipetrace::testing {

/// The schedules that have one optimizer step after all micro-batches.
inline std::vector<std::string> synchronousSchedules() {
  std::vector<std::string> names;
  for (const ScheduleInfo& info : knownSchedules()) {
    if (!info.isAsynchronous && !info.isForwardOnly) names.emplace_back(info.name);
  }
  return names;
}

/// The letters and digits of a schedule's name, for the name of a test.
inline std::string asTestName(std::string schedule) {
  std::erase_if(schedule, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; });
  return schedule;
}

}  // namespace pipetrace::testing
