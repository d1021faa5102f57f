#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace pipetrace {

/// The start of the last line that opens a run; npos where none does.
std::size_t lastMetaLine(const std::string& text);

/// The lines of a text that are not ordinary output.
std::string linesOfProfiler(std::string_view text);

}  // namespace pipetrace
