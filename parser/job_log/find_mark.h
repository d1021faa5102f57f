#pragma once

#include <cstdint>
#include <string_view>

namespace pipetrace {

/// The place where a line of ours may be.
struct FoundMark {
  const char* at = nullptr;   ///< the first log_format::kMark; the end where there is none
  std::int64_t lineEnds = 0;  ///< how many '\n' are before it
};

/// Looks for the mark that every line of ours holds.
FoundMark findMark(std::string_view text);

/// The same without vector instructions; findMark() falls back on it.
FoundMark findMarkByBytes(std::string_view text);

}  // namespace pipetrace
