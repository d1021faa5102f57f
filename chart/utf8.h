#pragma once

#include <string_view>

namespace pipetrace {

inline constexpr char32_t kReplacementCharacter = 0xFFFD;

/// Takes the first character off `text`, which must not be empty. Bytes that are no UTF-8 come out
/// as kReplacementCharacter, one for each byte.
char32_t takeCharacter(std::string_view& text);

}  // namespace pipetrace
