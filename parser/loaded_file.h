#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace pipetrace {

/// One input of loadTimeline(), as it turned out.
struct LoadedFile {
  std::string path;
  std::string_view format;  ///< TraceReader::formatName() of the reader that was chosen
  std::int64_t events = 0;
  std::optional<std::int64_t> arrows;  ///< see ReadOutcome::arrows
};

}  // namespace pipetrace
