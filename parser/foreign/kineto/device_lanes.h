#pragma once

#include <span>

#include "parser/device_time/device_jobs.h"
#include "parser/device_time/launch_findings.h"
#include "parser/device_time/launches.h"
#include "parser/foreign/kineto/categories.h"

namespace pipetrace {

/// Gives each kernel and copy on the lanes the number of its job (Event::job), and `jobs` its time.
LaunchFindings readWork(std::span<ForeignTrace::Lane* const> lanes, const KinetoWords& words,
                        Launches& launches, int threads, DeviceJobs& jobs);

}  // namespace pipetrace
