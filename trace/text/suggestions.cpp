#include "trace/text/suggestions.h"

#include <algorithm>

namespace pipetrace {
namespace {

constexpr std::size_t kLeastPart = 3;  // letters; less says nothing

/// The number of letters to add, leave out, change, or swap with their neighbour.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> to(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      std::size_t& least = to[i][j];
      if (i == 0 || j == 0) {
        least = i + j;
        continue;
      }
      least = std::min({to[i - 1][j] + 1, to[i][j - 1] + 1,
                        to[i - 1][j - 1] + static_cast<std::size_t>(a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        least = std::min(least, to[i - 2][j - 2] + 1);
      }
    }
  }
  return to[a.size()][b.size()];
}

/// The letters of a name; '_' counts as a dash.
std::string withoutDashes(std::string_view name) {
  std::string letters;
  for (const char c : name) {
    if (c != '-' && c != '_') letters += c;
  }
  return letters;
}

/// Whether `part` is some of the words of `whole`. Both begin with "--".
bool isPart(std::string_view part, std::string_view whole) {
  if (part.size() < 2 + kLeastPart) return false;
  const std::string words = std::string(part.substr(1)) + "-";
  return (std::string(whole.substr(1)) + "-").find(words) != std::string::npos;
}

}  // namespace

std::string nearestName(std::string_view typed, const std::vector<std::string>& names) {
  constexpr std::size_t kShort = 4;
  std::string nearest;
  std::size_t least = typed.size() > kShort ? 3 : 2;
  for (const std::string& name : names) {
    const std::size_t off = distance(typed, name);
    if (off >= least) continue;
    least = off;
    nearest = name;
  }
  return nearest;
}

std::string nearestOption(std::string_view typed, const std::vector<std::string>& names) {
  const std::string letters = withoutDashes(typed);
  std::vector<std::string> allLetters;
  for (const std::string& name : names) allLetters.push_back(withoutDashes(name));
  const auto nameOf = [&](const std::string& found) {
    return names[static_cast<std::size_t>(std::find(allLetters.begin(), allLetters.end(), found) -
                                          allLetters.begin())];
  };
  std::string begun;
  for (const std::string& other : allLetters) {
    const bool begins = letters.size() >= kLeastPart && other.starts_with(letters);
    if (begins && (begun.empty() || other.size() < begun.size())) begun = other;
  }
  if (!begun.empty()) return nameOf(begun);
  if (const std::string nearest = nearestName(letters, allLetters); !nearest.empty()) {
    return nameOf(nearest);
  }
  std::string within;
  std::string around;
  for (const std::string& name : names) {
    if (isPart(name, typed) && name.size() > within.size()) within = name;
    if (isPart(typed, name) && (around.empty() || name.size() < around.size())) around = name;
  }
  return within.empty() ? around : within;
}

}  // namespace pipetrace
