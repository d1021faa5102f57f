#pragma once

#include <cstdint>
#include <string_view>

#include "trace/event.h"
#include "trace/log/job_details.h"

namespace pipetrace {

/// One `Profiler Info:` line: a job of the compute lane. Numbers that are kNotGiven and texts that
/// are empty are left out, except the first five, which PaddlePaddle's script needs.
struct JobLine {
  std::string_view type;
  std::int64_t number = 0;  ///< `Job (n)`
  std::int64_t microBatch = 0;
  Nanoseconds begin = 0;  ///< since the Unix epoch
  Nanoseconds end = 0;
  std::int64_t id = kNotGiven;
  std::int64_t step = kNotGiven;
  std::int64_t stage = kNotGiven;
  std::int64_t chunk = kNotGiven;
  std::string_view stream;
  std::string_view action;
  JobDetails details = {};
  Phase phase = Phase::kTraining;
};

/// One `Profiler Stream:` line: an event of a stream other than the compute stream.
struct StreamLine {
  std::string_view type;
  std::int64_t microBatch = kNotGiven;
  Nanoseconds begin = 0;
  Nanoseconds end = 0;
  std::string_view stream;
  std::int64_t peer = kNotGiven;
  std::int64_t bytes = kNotGiven;
  std::string_view members = {};  ///< the ranks of a collective: "0 4"
  std::int64_t job = kNotGiven;   ///< the `id` of the job that it belongs to
  std::int64_t step = kNotGiven;
  std::int64_t stage = kNotGiven;
  std::int64_t chunk = kNotGiven;
  Phase phase = Phase::kTraining;
};

/// One `Profiler Kernel:` line: an event on a device, which a driver or a library reported.
struct KernelLine {
  std::string_view name;
  Nanoseconds begin = 0;
  Nanoseconds end = 0;
  std::string_view stream;
  std::int64_t bytes = kNotGiven;
  std::int64_t job = kNotGiven;  ///< the `id` of the job that queued it
};

/// One `Profiler Stream:` line of an operation of NCCL.
struct NcclLine {
  StreamLine what;
  bool isTimed = false;  ///< false: the times are those of the call, and the line has `untimed = 1`
  std::string_view communicator;
  std::int64_t communicatorPeer = kNotGiven;  ///< rank of the peer in the communicator
  std::int64_t sequence = kNotGiven;
  std::string_view algorithm;
  std::string_view protocol;
};

/// One `Profiler Counter:` line.
struct CounterLine {
  std::string_view name;
  Nanoseconds time = 0;
  double value = 0;
  std::string_view unit;
};

}  // namespace pipetrace
