#include "parser/rank_in_name.h"

#include <algorithm>

#include "parser/trace_reader.h"
#include "trace/text/log_numbers.h"

namespace pipetrace {

std::optional<int> rankInName(std::string_view path) {
  path.remove_prefix(path.rfind('/') + 1);  // npos + 1 is 0
  const std::size_t word = path.rfind("rank");
  if (word == std::string_view::npos) return std::nullopt;
  path.remove_prefix(word + 4);
  if (!path.empty() && std::string_view("_-.").find(path.front()) != std::string_view::npos) {
    path.remove_prefix(1);
  }
  const std::size_t end = std::min(path.find_first_not_of("0123456789"), path.size());
  const auto rank = parseNumber<int>(path.substr(0, end));
  return rank && *rank <= kHighestRank ? rank : std::nullopt;
}

}  // namespace pipetrace
