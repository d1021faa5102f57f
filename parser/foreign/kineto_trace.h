#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "trace/nanoseconds.h"

namespace pipetrace {

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
bool hasKinetoCategories(const ForeignTrace& trace);

}  // namespace pipetrace
