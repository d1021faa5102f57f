#pragma once

#include <optional>
#include <string_view>

#include "trace/nanoseconds.h"

namespace pipetrace {

/// What a trace of PyTorch's profiler (Kineto) says besides its events.
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

}  // namespace pipetrace
