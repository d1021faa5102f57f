#include "parser/job_type.h"

#include <charconv>

namespace pipetrace {
namespace {

constexpr std::string_view kPartMark = "(chunk";

bool isDigitOfType(char c) { return c >= '0' && c <= '9'; }

bool readSmall(std::string_view digits, std::int16_t& number) {
  const char* const end = digits.data() + digits.size();
  const auto result = std::from_chars(digits.data(), end, number);
  return result.ec == std::errc{} && result.ptr == end && number >= 0;
}

/// Bubbles are found by analysis; a log that names one means something else by it.
JobKind kindInLog(std::string_view text) {
  const JobKind kind = jobKindFromLogName(text);
  return kind == JobKind::kBubble ? JobKind::kOther : kind;
}

}  // namespace

JobType parseJobType(std::string_view text) {
  JobType type;
  type.kind = kindInLog(text);
  if (type.kind != JobKind::kOther) return type;

  if (const std::size_t mark = text.find(kPartMark);
      mark != std::string_view::npos && text.ends_with(')')) {
    const std::size_t digits = mark + kPartMark.size();
    if (!readSmall(text.substr(digits, text.size() - digits - 1), type.part)) return {};
    text = text.substr(0, mark);
    type.kind = kindInLog(text);
  }
  std::size_t base = text.size();
  while (base > 0 && isDigitOfType(text[base - 1])) --base;
  if (type.kind == JobKind::kOther && base < text.size()) {
    if (!readSmall(text.substr(base), type.chunk)) return {};
    type.kind = kindInLog(text.substr(0, base));
  }
  return type.kind == JobKind::kOther ? JobType{} : type;
}

}  // namespace pipetrace
