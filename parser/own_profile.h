#pragma once

#include <string_view>

namespace pipetrace {

/// Whether a file begins as the profiles of pipe-trace do (Chrome JSON, Perfetto, SQLite).
bool isOwnProfile(std::string_view head);

/// Whether a file of that name is one of the two that PaddlePaddle's converter writes into the
/// folder of the logs, or pipe-trace in its style.
bool isPaddleProfileName(std::string_view fileName);

}  // namespace pipetrace
