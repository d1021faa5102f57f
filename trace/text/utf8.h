#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace pipetrace {

/// The length of the UTF-8 character at the start of `text` (1..4); 0 if it is not well-formed
/// (RFC 3629: no overlong forms, no surrogates, nothing past U+10FFFF). `text` is not empty.
std::size_t utf8Length(std::string_view text);

bool isUtf8(std::string_view text);

/// Returns `text`, with U+FFFD in place of every byte that is no UTF-8.
std::string toUtf8(std::string_view text);

/// Appends the UTF-8 of a code point; U+FFFD if the number is no code point.
void appendUtf8(std::string& out, char32_t codePoint);

inline constexpr char32_t kReplacementCharacter = 0xFFFD;
inline constexpr std::string_view kReplacement = "\xef\xbf\xbd";  ///< U+FFFD as UTF-8

/// Takes the first character off `text`, which must not be empty. Bytes that are no UTF-8 come out
/// as kReplacementCharacter, one for each byte.
char32_t takeCharacter(std::string_view& text);

}  // namespace pipetrace
