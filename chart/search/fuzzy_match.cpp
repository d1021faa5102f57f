#include "chart/search/fuzzy_match.h"

#include <algorithm>
#include <vector>

#include "trace/text/typed_text.h"

namespace pipetrace {
namespace {

constexpr int kLetter = 4;
constexpr int kBeginning = 12;  // more, at the beginning of a word
constexpr int kSideBySide = 14;
constexpr int kNone = -1'000'000;
constexpr std::size_t kLongest = 400;  // characters that are looked at

bool isWordCharacter(char c) {
  const char lower = lowerCaseLetter(c);
  return (lower >= 'a' && lower <= 'z') || (c >= '0' && c <= '9') || (c & 0x80) != 0;
}

}  // namespace

std::optional<int> fuzzyMatch(std::string_view typed, std::string_view text) {
  std::string letters = lowerCase(typed.substr(0, kLongest));
  std::erase(letters, ' ');
  const std::string in = lowerCase(text.substr(0, kLongest));
  if (letters.empty()) return 0;
  if (letters.size() > in.size()) return std::nullopt;
  // best[i]: the best score of the letters so far, if the last of them is character i.
  std::vector<int> best(in.size(), kNone);
  for (std::size_t letter = 0; letter < letters.size(); ++letter) {
    std::vector<int> next(in.size(), kNone);
    int before = letter == 0 ? 0 : kNone;  // the best that ends anywhere before i
    for (std::size_t i = 0; i < in.size(); ++i) {
      if (in[i] == letters[letter]) {
        const bool isBeginning = i == 0 || !isWordCharacter(in[i - 1]);
        int score = before;
        if (letter > 0 && i > 0) score = std::max(score, best[i - 1] + kSideBySide);
        if (score > kNone / 2) next[i] = score + kLetter + (isBeginning ? kBeginning : 0);
      }
      if (letter > 0) before = std::max(before, best[i]);
    }
    best = std::move(next);
  }
  const int score = *std::max_element(best.begin(), best.end());
  if (score <= kNone / 2) return std::nullopt;
  return score * 8 - static_cast<int>(in.size());
}

}  // namespace pipetrace
