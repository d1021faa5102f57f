#pragma once

#include <optional>
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
  std::optional<Nanoseconds> base;  ///< since the Unix epoch; what its times count from

  /// The keys that it knows, of fields of the file.
  static bool isField(std::string_view key);

  /// Takes over what the JSON of such a field says, if it makes sense.
  void readField(std::string_view key, std::string_view json);
};

/// Whether events have categories that PyTorch's profiler (Kineto) gives.
bool isKinetoTrace(const ForeignTrace& trace);

/// Such a file is of one rank: the one that it names, else the next free one. Threads and streams
/// are lanes of it.
///
/// Jobs are the outermost annotations of a thread (`record_function`) whose names tell a job's
/// kind; they move to the compute lane. On the device they are not looked for: an annotation there
/// covers only what its own thread launched, and autograd launches from another. Kernels of NCCL
/// are collectives, other kernels kernels, copies copies; what the host does is of no kind unless
/// the user asked for one. Events get their step from `ProfilerStep#7`, those on a device through
/// the operator that launched them ("External id").
void placeKinetoTrace(ForeignTrace& trace, const KinetoInfo& info, ForeignNames& names);

}  // namespace pipetrace
