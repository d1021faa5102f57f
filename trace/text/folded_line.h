#pragma once

#include <string>
#include <string_view>

namespace pipetrace {

/// `line` (no newline in it), broken at blanks, rather those after a comma or semicolon, into lines
/// of at most `width` bytes, each but the first indented by two; a word that is longer has a line
/// of its own. Without a newline at the end.
std::string foldedLine(std::string_view line, std::size_t width);

}  // namespace pipetrace
