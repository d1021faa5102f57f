#pragma once

#include <cstdint>
#include <string_view>

namespace pipetrace {

/// Where a line of ours may be.
struct FoundMark {
  const char* at = nullptr;   ///< the first log_format::kMark; the end where there is none
  std::int64_t lineEnds = 0;  ///< so many '\n' stand before it
};

/// Looks for the mark that every line of ours holds.
FoundMark findMark(std::string_view text);

/// The same without the machine's wide registers: what findMark() falls back on.
FoundMark findMarkByBytes(std::string_view text);

}  // namespace pipetrace
