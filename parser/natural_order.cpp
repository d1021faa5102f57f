#include "parser/natural_order.h"

#include <algorithm>
#include <cstddef>

namespace pipetrace {
namespace {

bool isDigit(char c) { return c >= '0' && c <= '9'; }

/// The digits that `text` begins with, without leading zeros; they are taken off it.
std::string_view takeNumber(std::string_view& text) {
  const auto end =
      static_cast<std::size_t>(std::find_if_not(text.begin(), text.end(), isDigit) - text.begin());
  std::string_view digits = text.substr(0, end);
  text.remove_prefix(end);
  digits.remove_prefix(std::min(digits.find_first_not_of('0'), digits.size()));
  return digits;
}

}  // namespace

bool naturallyBefore(std::string_view a, std::string_view b) {
  std::string_view x = a;
  std::string_view y = b;
  while (!x.empty() && !y.empty()) {
    if (isDigit(x.front()) && isDigit(y.front())) {
      const std::string_view m = takeNumber(x);
      const std::string_view n = takeNumber(y);
      if (m.size() != n.size()) return m.size() < n.size();
      if (m != n) return m < n;
    } else if (x.front() != y.front()) {
      return static_cast<unsigned char>(x.front()) < static_cast<unsigned char>(y.front());
    } else {
      x.remove_prefix(1);
      y.remove_prefix(1);
    }
  }
  if (x.empty() != y.empty()) return x.empty();
  return a < b;
}

}  // namespace pipetrace
