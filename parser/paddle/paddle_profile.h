#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trace/diagnostic.h"
#include "trace/files/output_set.h"

namespace pipetrace {

/// The version of PaddlePaddle's converter to imitate.
enum class PaddleStyle : std::uint8_t {
  kCurrent,  ///< paddle/distributed/auto_parallel/static/profiler_helper_static.py of 3.3.1
  k2023,     ///< its first published version
};

struct PaddleRequest {
  std::string logFolder;     ///< holds workerlog.<device>, or machine<i>/workerlog.<device>
  std::vector<int> devices;  ///< in the order in which they are written; as in --devices 0,1
  bool multiMachine = false;
  PaddleStyle style = PaddleStyle::kCurrent;
  /// Types of jobs that are left out; empty: those that the script leaves out (`recv_forward` and
  /// `send_backward`, in 2023 `lr`).
  std::vector<std::string> skippedTypes;
};

struct PaddleSummary {
  std::string profile;          ///< path of pipeline_profile.json
  std::string perfettoProfile;  ///< path of pipeline_profile_perfetto.json
  std::int64_t jobs = 0;
  std::int64_t steps = 0;
  std::int64_t machines = 1;
};

/// Converts PaddlePaddle's logs as PaddlePaddle's own script does, and writes its two files for
/// the log folder: the same events in the same order, every time the same double. (Machine folders
/// are taken in the natural order of their names; the script takes them as the file system gives
/// them.) They are added to `files`; the caller commits them.
///
/// The script's faults are kept, and reported in `diagnostics`. Devices whose numbers do not run
/// from 0 keep tids that are texts; logs without jobs make a step that lasts from 0 to 0. The
/// script dies at a time that is no number, at bytes that are no UTF-8, and in 2023 at a type
/// without colour. Such a job is left out or written as well as possible, which is reported, too.
/// Throws Error when a log is missing, there is no device or machine, or a file cannot be written.
PaddleSummary writePaddleProfiles(const PaddleRequest& request, OutputSet& files,
                                  Diagnostics& diagnostics);

}  // namespace pipetrace
