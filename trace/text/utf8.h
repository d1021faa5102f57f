#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace pipetrace {

/// The length of the UTF-8 character at the start of `text` (1..4), or 0 where no well-formed one
/// stands (RFC 3629: no overlong forms, no surrogates, nothing past U+10FFFF). `text` is not empty.
std::size_t utf8Length(std::string_view text);

bool isUtf8(std::string_view text);

/// `text` with every byte that is no UTF-8 replaced by U+FFFD.
std::string toUtf8(std::string_view text);

/// Appends the UTF-8 of a code point; U+FFFD for what is none.
void appendUtf8(std::string& out, char32_t codePoint);

inline constexpr char32_t kReplacementCharacter = 0xFFFD;
inline constexpr std::string_view kReplacement = "\xef\xbf\xbd";  ///< the same as UTF-8

/// Takes the first character off `text`, which must not be empty. Bytes that are no UTF-8 come out
/// as kReplacementCharacter, one for each byte.
char32_t takeCharacter(std::string_view& text);

}  // namespace pipetrace
