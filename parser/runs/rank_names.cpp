#include "parser/runs/rank_names.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "parser/byte_source.h"
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
  if (const auto place = megatronAppPlace(path)) {
    return {place->tensorParallel, std::nullopt, place->dataParallel, place->pipeline};
  }
  Coordinates found;
  std::transform(kDimensions.begin(), kDimensions.end(), found.begin(),
                 [&](std::string_view dimension) { return coordinate(fileName(path), dimension); });
  return found;
}

/// A name without its numbers, and these.
struct NumberedName {
  std::string text;
  std::vector<std::string> before;  // the letters directly before each number
  std::vector<std::int64_t> numbers;
};

std::string_view plainName(std::string_view path) { return ByteSource::plainName(fileName(path)); }

NumberedName numbersInName(std::string_view path) {
  constexpr std::int64_t kNone = -1;
  std::string_view rest = plainName(path);
  NumberedName name;
  std::string letters;
  while (!rest.empty()) {
    const std::size_t digits = std::min(rest.find_first_not_of(kDigits), rest.size());
    if (digits == 0) {
      const char c = rest.front();
      const bool isAfterWord = !letters.empty() && kSeparators.find(c) != std::string_view::npos;
      if (isLetter(c)) {
        if (!name.text.empty() && !isLetter(name.text.back())) letters.clear();
        letters += c;
      } else if (!isAfterWord) {
        letters.clear();
      }
      name.text += c;
      rest.remove_prefix(1);
      continue;
    }
    name.numbers.push_back(parseNumber<std::int64_t>(rest.substr(0, digits)).value_or(kNone));
    name.before.push_back(letters);
    name.text += '#';
    letters.clear();
    rest.remove_prefix(digits);
  }
  return name;
}

bool countsSteps(std::string_view word) {
  constexpr std::array<std::string_view, 4> kWords = {"step", "iter", "iteration", "epoch"};
  return std::find(kWords.begin(), kWords.end(), word) != kWords.end();
}

/// Files whose names are alike but for their numbers.
struct AlikeNames {
  std::vector<std::size_t> files;
  std::vector<NumberedName> names;
};

/// Which of the numbers is that of the rank; nothing where none is, or several may be.
std::optional<std::size_t> placeOfRank(const std::vector<NumberedName>& names) {
  std::vector<std::size_t> places;
  std::vector<std::size_t> withoutGap;
  for (std::size_t place = 0; place < names.front().numbers.size(); ++place) {
    if (countsSteps(names.front().before[place])) continue;
    std::set<std::int64_t> numbers;
    for (const NumberedName& name : names) numbers.insert(name.numbers[place]);
    const bool fits = numbers.size() == names.size() && *numbers.begin() == 0 &&
                      *numbers.rbegin() <= kHighestRank;
    if (!fits) continue;
    places.push_back(place);
    if (*numbers.rbegin() + 1 == std::ssize(names)) withoutGap.push_back(place);
  }
  if (places.size() > 1) places = withoutGap;
  return places.size() == 1 ? std::optional(places.front()) : std::nullopt;
}

/// Gives the files without a rank the number in which their names differ, if it may be that of
/// ranks.
void giveNumbersThatDiffer(std::span<const std::string> paths,
                           std::vector<std::optional<int>>& ranks) {
  std::map<std::string, AlikeNames> alike;  // by their text
  for (std::size_t file = 0; file < paths.size(); ++file) {
    if (ranks[file]) continue;
    NumberedName name = numbersInName(paths[file]);
    AlikeNames& same = alike[name.text];
    same.files.push_back(file);
    same.names.push_back(std::move(name));
  }
  for (const auto& [text, same] : alike) {
    const auto place = same.files.size() > 1 ? placeOfRank(same.names) : std::nullopt;
    if (!place) continue;
    for (std::size_t i = 0; i < same.files.size(); ++i) {
      ranks[same.files[i]] = static_cast<int>(same.names[i].numbers[*place]);
    }
  }
}

}  // namespace

std::optional<int> rankInName(std::string_view path) {
  path = fileName(path);
  for (const std::string_view word : {"rank", "worker"}) {
    const std::size_t at = path.rfind(word);
    if (at == std::string_view::npos) continue;
    if (const auto number = numberAtFront(path.substr(at + word.size()))) return number;
  }
  return std::nullopt;
}

std::optional<GridPlace> megatronAppPlace(std::string_view path) {
  std::string_view name = plainName(path);
  GridPlace place;
  const std::pair<std::string_view, int*> parts[] = {{"benchmark-data-", &place.dataParallel},
                                                     {"-pipeline-", &place.pipeline},
                                                     {"-tensor-", &place.tensorParallel}};
  for (const auto& [word, number] : parts) {
    if (!name.starts_with(word)) return std::nullopt;
    name.remove_prefix(word.size());
    const std::size_t digits = std::min(name.find_first_not_of(kDigits), name.size());
    const auto parsed = parseNumber<int>(name.substr(0, digits));
    if (!parsed || *parsed > kHighestRank) return std::nullopt;
    *number = *parsed;
    name.remove_prefix(digits);
  }
  return name == ".json" ? std::optional(place) : std::nullopt;
}

std::vector<std::optional<int>> ranksInNames(std::span<const std::string> files) {
  std::vector<std::string> paths(files.begin(), files.end());
  const bool isOneName =
      paths.size() > 1 && std::all_of(paths.begin(), paths.end(), [&](auto& path) {
        return fileName(path) == fileName(paths.front());
      });
  if (isOneName && !rankInName(paths.front())) {
    for (std::string& path : paths) path.resize(path.size() - fileName(path).size());
    for (std::string& path : paths)
      path.resize(std::min(path.find_last_not_of('/') + 1, path.size()));
  }
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
  giveNumbersThatDiffer(paths, ranks);
  return ranks;
}

std::string hostInName(std::string_view path) {
  constexpr std::string_view kEnding = ".pt.trace.json";
  std::string_view name = plainName(path);
  const auto takeNumber = [&](char before) {
    const std::size_t end = name.find_last_not_of(kDigits);
    const bool isThere =
        end != std::string_view::npos && end + 1 < name.size() && name[end] == before;
    if (isThere) name = name.substr(0, end);
    return isThere;
  };
  if (!name.ends_with(kEnding)) return {};
  name.remove_suffix(kEnding.size());
  return takeNumber('.') && takeNumber('_') ? std::string(name) : std::string();
}

}  // namespace pipetrace
