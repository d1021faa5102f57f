#pragma once

#include <string>
#include <string_view>

namespace pipetrace {

/// Text from logs, traces and names of files as a terminal may get it. In place of each character
/// that would do more than stand there is a question mark, which is as wide: control characters
/// (C0 but for newline and tab, delete, C1), those that change the direction of what follows,
/// separators of lines and paragraphs, and bytes that are no UTF-8.
///
/// All text that a program prints for people goes through it, and no text for programs (JSON, SVG).
/// Linear; any thread.
std::string fitToPrint(std::string_view text);

}  // namespace pipetrace
