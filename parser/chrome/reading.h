#pragma once

#include <cstdint>

namespace pipetrace {

/// How the events of a Chrome trace are read.
enum class ChromeReading : std::uint8_t {
  kFast,       ///< by hand where they are plain, on several threads
  kByLibrary,  ///< one by one, all as if none were plain: to compare with
};

}  // namespace pipetrace
