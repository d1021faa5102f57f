#pragma once

#include <string>
#include <string_view>

namespace pipetrace {

/// Whether a byte stands for itself in a JSON string, whatever is beside it.
inline bool isPlainInJson(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= 0x20 && byte < 0x7f && c != '"' && c != '\\';
}

/// Appends `text` as a JSON string with its quotes. Control characters are escaped, bytes that are
/// no UTF-8 become U+FFFD. A last backslash is written as \u005c, because Perfetto v52 looks one
/// byte back from a quote to see whether it is escaped.
void appendJsonString(std::string& out, std::string_view text);

/// Appends whole JSON with its strings as appendJsonString() writes them.
void appendJsonForViewers(std::string& out, std::string_view json);

/// Appends the text of a JSON string; `body` is the text between its quotes. False where it breaks
/// JSON's rules; `out` is then of no use. Lone surrogates become U+FFFD.
bool appendFromJsonString(std::string& out, std::string_view body);

}  // namespace pipetrace
