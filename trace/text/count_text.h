#pragma once

#include <concepts>
#include <string>
#include <string_view>

namespace pipetrace {

/// "1 rank", "3 ranks": a count with what follows it. `many`: where that is not `one` with an s.
std::string countText(std::integral auto count, std::string_view one, std::string_view many = {}) {
  std::string text = std::to_string(count) + " ";
  if (count == 1) return text += one;
  return many.empty() ? (text += one) += "s" : text += many;
}

}  // namespace pipetrace
