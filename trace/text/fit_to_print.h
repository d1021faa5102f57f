#pragma once

#include <string>
#include <string_view>

namespace pipetrace {

/// Text from logs, traces and names of files as a terminal may get it. A question mark, which is as
/// wide, replaces each character that would do more than stand there:
/// - control characters (C0 but for newline and tab, delete, C1),
/// - those that change the direction of what follows, and separators of lines and paragraphs,
/// - bytes that are no UTF-8.
///
/// All text that a program prints for people goes through it, and no text for programs (JSON, SVG).
/// Linear; any thread.
std::string fitToPrint(std::string_view text);

/// The same of a text that stays in its line: newlines and tabs are question marks, too. A name
/// could else look like lines of the program.
std::string fitInLine(std::string_view text);

/// fitInLine() and a newline.
std::string fitLine(std::string_view text);

}  // namespace pipetrace
