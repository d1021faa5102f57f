#pragma once

#include <string>
#include <string_view>

namespace pipetrace {

/// Breaks `line`, which has no newline, into lines of at most `width` bytes. It breaks at blanks,
/// if possible after a comma or semicolon. All lines but the first are indented by two. A longer
/// word has a line of its own. There is no newline at the end.
std::string foldedLine(std::string_view line, std::size_t width);

}  // namespace pipetrace
