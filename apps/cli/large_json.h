#pragma once

#include <cstdint>
#include <string>

namespace pipetrace {

/// From here on a JSON file is worth a word: Perfetto's UI stops near 2 GB.
inline constexpr std::int64_t kLargeJson = 1'000'000'000;

/// The advice on a Chrome JSON file of that size, with a newline; empty for one below `limit`.
std::string adviceOnSize(const std::string& path, std::int64_t bytes, std::int64_t limit);

}  // namespace pipetrace
