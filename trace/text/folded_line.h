#pragma once

#include <string>
#include <string_view>

namespace pipetrace {

/// The blank to break at: the last of the first `room` + 1 characters, if possible one after a
/// comma or semicolon; npos if there is none.
inline std::size_t blankToFoldAt(std::string_view line, std::size_t room) {
  const std::size_t last = line.rfind(' ', room);
  std::size_t blank = last;
  while (blank != std::string_view::npos && blank > 0) {
    if (line[blank - 1] == ',' || line[blank - 1] == ';') return blank;
    blank = line.rfind(' ', blank - 1);
  }
  return last;
}

/// Breaks `line`, which has no newline, into lines of at most `width` bytes. It breaks at blanks,
/// if possible after a comma or semicolon. All lines but the first are indented by two. A longer
/// word has a line of its own. There is no newline at the end.
inline std::string foldedLine(std::string_view line, std::size_t width) {
  std::string text;
  std::string_view indent;
  while (indent.size() + line.size() > width) {
    const std::size_t room = width > indent.size() ? width - indent.size() : 0;
    std::size_t blank = blankToFoldAt(line, room);
    if (blank == 0 || blank == std::string_view::npos) blank = line.find(' ', 1);
    if (blank == std::string_view::npos) break;
    text.append(indent).append(line.substr(0, blank)).append("\n");
    line.remove_prefix(blank + 1);
    indent = "  ";
  }
  return text.append(indent).append(line);
}

}  // namespace pipetrace
