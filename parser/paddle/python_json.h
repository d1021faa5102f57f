#pragma once

#include <string>
#include <string_view>

namespace pipetrace {

/// Appends a float as Python's json.dumps() writes it: the fewest digits that read back the same,
/// in scientific form from "1e+16" on, and "Infinity".
void appendPythonFloat(std::string& out, double value);

/// Appends a text as json.dumps() writes it: ASCII only. `text` must be UTF-8.
void appendPythonString(std::string& out, std::string_view text);

}  // namespace pipetrace
