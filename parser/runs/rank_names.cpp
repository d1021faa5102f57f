#include "parser/runs/rank_names.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "parser/trace_reader.h"
#include "trace/text/log_numbers.h"

namespace pipetrace {
namespace {

constexpr std::string_view kDigits = "0123456789";
constexpr std::string_view kSeparators = "_-.";

std::string_view fileName(std::string_view path) {
  path.remove_prefix(path.rfind('/') + 1);  // npos + 1 is 0
  return path;
}

bool isLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/// The number that `text` begins with, perhaps after one separator.
std::optional<int> numberAtFront(std::string_view text) {
  if (!text.empty() && kSeparators.find(text.front()) != std::string_view::npos) {
    text.remove_prefix(1);
  }
  const auto number =
      parseNumber<int>(text.substr(0, std::min(text.find_first_not_of(kDigits), text.size())));
  return number && *number <= kHighestRank ? number : std::nullopt;
}

/// The dimensions of the grid of ranks, the one that ranks are counted along first at the front.
constexpr std::array<std::string_view, 4> kDimensions = {"tp", "cp", "dp", "pp"};
using Coordinates = std::array<std::optional<int>, kDimensions.size()>;

std::optional<int> coordinate(std::string_view name, std::string_view dimension) {
  for (std::size_t at = name.find(dimension); at != std::string_view::npos;
       at = name.find(dimension, at + 1)) {
    const bool isWord = at == 0 || !isLetter(name[at - 1]);
    const auto number = numberAtFront(name.substr(at + dimension.size()));
    if (isWord && number) return number;
  }
  return std::nullopt;
}

Coordinates coordinatesIn(std::string_view path) {
  Coordinates found;
  std::transform(kDimensions.begin(), kDimensions.end(), found.begin(),
                 [&](std::string_view dimension) { return coordinate(fileName(path), dimension); });
  return found;
}

}  // namespace

std::optional<int> rankInName(std::string_view path) {
  constexpr std::string_view kWord = "rank";
  path = fileName(path);
  const std::size_t word = path.rfind(kWord);
  if (word == std::string_view::npos) return std::nullopt;
  return numberAtFront(path.substr(word + kWord.size()));
}

std::vector<std::optional<int>> ranksInNames(std::span<const std::string> paths) {
  std::vector<Coordinates> places;
  std::array<std::int64_t, kDimensions.size()> sizes{};
  for (const std::string& path : paths) {
    const Coordinates& place = places.emplace_back(coordinatesIn(path));
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      sizes[i] = std::max<std::int64_t>(sizes[i], place[i].value_or(0) + 1);
    }
  }
  std::vector<std::optional<int>> ranks;
  for (std::size_t file = 0; file < paths.size(); ++file) {
    std::optional<int>& rank = ranks.emplace_back(rankInName(paths[file]));
    const Coordinates& place = places[file];
    const bool isPlaced = std::any_of(place.begin(), place.end(), [](auto& c) { return c; });
    if (rank || !isPlaced) continue;
    std::int64_t number = 0;
    bool fits = true;
    for (std::size_t i = sizes.size(); fits && i-- > 0;) {
      fits = !__builtin_mul_overflow(number, sizes[i], &number) &&
             !__builtin_add_overflow(number, std::int64_t{place[i].value_or(0)}, &number) &&
             number <= kHighestRank;
    }
    if (fits) rank = static_cast<int>(number);
  }
  return ranks;
}

std::string hostInName(std::string_view path) {
  constexpr std::string_view kCompressed = ".gz";
  constexpr std::string_view kEnding = ".pt.trace.json";
  std::string_view name = fileName(path);
  const auto takeNumber = [&](char before) {
    const std::size_t end = name.find_last_not_of(kDigits);
    const bool isThere =
        end != std::string_view::npos && end + 1 < name.size() && name[end] == before;
    if (isThere) name = name.substr(0, end);
    return isThere;
  };
  if (name.ends_with(kCompressed)) name.remove_suffix(kCompressed.size());
  if (!name.ends_with(kEnding)) return {};
  name.remove_suffix(kEnding.size());
  return takeNumber('.') && takeNumber('_') ? std::string(name) : std::string();
}

}  // namespace pipetrace
