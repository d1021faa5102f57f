#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "trace/nanoseconds.h"

namespace pipetrace {

class ForeignNames;
struct ForeignTrace;

/// The fields of a trace of PyTorch's profiler (Kineto) besides its events.
struct KinetoInfo {
  bool isThere = false;  ///< one of its fields was
  std::optional<int> rank;
  std::optional<int> worldSize;
  std::string run;   ///< `distributedInfo` without the rank, as JSON; empty: not there
  std::string host;  ///< `host_name`
  std::optional<Nanoseconds> base;  ///< since the Unix epoch; what its times count from

  /// Whether the key is that of a field of the file that is read here.
  static bool isField(std::string_view key);

  /// Reads the JSON of such a field, if it makes sense.
  void readField(std::string_view key, std::string_view json);
};

/// Whether events have categories that PyTorch's profiler (Kineto) gives.
bool isKinetoTrace(const ForeignTrace& trace);

/// Such a file holds one rank: the one that `distributedInfo` names, else that of the file's name,
/// else the next free one. `trace.recorded` gets the process that the host's events are of. Threads
/// and streams become lanes of that rank.
///
/// Jobs are the outermost annotations of a host's thread (`record_function`) whose names say a
/// job's kind. A job's work on devices is that whose launch lies in the annotation on its thread,
/// or that autograd's threads launched meanwhile for it (Launches). The job goes to the compute
/// lane. It lasts from the first start to the last end of its work on compute streams,
/// communication apart; the annotation goes to the lane `host`. Both, and the work, have the job's
/// number. With JobTime::kHost the job has the annotation's times. Without a device it lasts as
/// long as its operators, and messages are lanes (placeHostOnly).
///
/// Annotations of single stages' jobs (`PP:1F3`) inside a schedule's own (`Forward 3`) are the
/// jobs, unless JobTime::kHost is asked for.
///
/// Kernels of NCCL become collectives, other kernels kernels, and copies copies. Events of the host
/// have no kind unless the user asked for one. Events get their step from `ProfilerStep#7`, those
/// on a device through the operator that launched them ("External id").
void placeKinetoTrace(ForeignTrace& trace, const KinetoInfo& info, ForeignNames& names);

}  // namespace pipetrace
