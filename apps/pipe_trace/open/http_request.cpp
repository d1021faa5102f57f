#include "apps/pipe_trace/open/http_request.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <limits>
#include <system_error>

namespace pipetrace {
namespace {

constexpr std::string_view kNewline = "\r\n";

/// The text before the first `mark`; both are removed from `text`.
std::string_view takeUntil(std::string_view& text, std::string_view mark) {
  const std::size_t at = std::min(text.find(mark), text.size());
  const std::string_view taken = text.substr(0, at);
  text.remove_prefix(std::min(at + mark.size(), text.size()));
  return taken;
}

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool isSameName(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return lower(x) == lower(y); });
}

std::string_view withoutBlanks(std::string_view text) {
  const std::size_t begin = std::min(text.find_first_not_of(" \t"), text.size());
  text.remove_prefix(begin);
  return text.substr(0, text.find_last_not_of(" \t") + 1);  // npos + 1 is 0
}

/// A number of digits alone; the largest where it is larger.
std::optional<std::uint64_t> numberIn(std::string_view text) {
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (stop != end || error == std::errc::invalid_argument) return std::nullopt;
  return error == std::errc() ? value : std::numeric_limits<std::uint64_t>::max();
}

}  // namespace

HttpRequest::HttpRequest(std::string_view text) {
  std::string_view line = takeUntil(text, kNewline);
  const std::string_view method = takeUntil(line, " ");
  path_ = takeUntil(line, " ");
  if (line.starts_with("HTTP/1.")) method_ = method;
  headers_ = text;
}

std::string_view HttpRequest::header(std::string_view name) const {
  for (std::string_view rest = headers_; !rest.empty();) {
    std::string_view line = takeUntil(rest, kNewline);
    if (isSameName(takeUntil(line, ":"), name)) return withoutBlanks(line);
  }
  return {};
}

std::optional<WantedBytes> wantedBytes(std::string_view range, std::size_t size) {
  constexpr std::string_view kUnit = "bytes=";
  const WantedBytes all{.begin = 0, .end = size, .isPart = false};
  const std::size_t dash = range.find('-');
  if (!range.starts_with(kUnit) || dash == std::string_view::npos) return all;
  const std::string_view before = range.substr(kUnit.size(), dash - kUnit.size());
  const std::string_view behind = range.substr(dash + 1);
  const auto first = numberIn(before);
  const auto last = numberIn(behind);
  if ((!first && !before.empty()) || (!last && !behind.empty()) || (!first && !last)) return all;
  if (first && last && *first > *last) return all;
  const std::size_t begin =
      first ? std::min<std::uint64_t>(*first, size) : size - std::min<std::uint64_t>(*last, size);
  const std::size_t end =
      first && last && *last < size ? static_cast<std::size_t>(*last) + 1 : size;
  if (begin >= end) return std::nullopt;
  return WantedBytes{.begin = begin, .end = end, .isPart = true};
}

}  // namespace pipetrace
