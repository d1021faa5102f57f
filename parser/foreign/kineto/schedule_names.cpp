#include "parser/foreign/kineto/schedule_names.h"

#include <algorithm>

#include "trace/text/log_numbers.h"

namespace pipetrace {
namespace {

constexpr std::string_view kPipelinePrefix = "PP:";

bool isDecimalDigit(char c) { return c >= '0' && c <= '9'; }

bool areDigits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), isDecimalDigit);
}

/// Cuts the digits off the front of the text.
std::string_view takeDigits(std::string_view& text) {
  const auto end = std::find_if_not(text.begin(), text.end(), isDecimalDigit);
  const std::string_view digits = text.substr(0, static_cast<std::size_t>(end - text.begin()));
  text.remove_prefix(digits.size());
  return digits;
}

}  // namespace

bool isScheduleName(std::string_view name) {
  if (name.starts_with(kPipelinePrefix)) return true;
  for (const std::string_view word : {"Forward ", "Backward "}) {
    if (name.starts_with(word)) return areDigits(name.substr(word.size()));
  }
  return false;
}

bool isStageJobName(std::string_view name) {
  if (!name.starts_with(kPipelinePrefix)) return false;
  name.remove_prefix(kPipelinePrefix.size());
  if (takeDigits(name).empty() || name.empty()) return false;
  return std::string_view("FBIW").find(name.front()) != std::string_view::npos &&
         areDigits(name.substr(1));
}

std::optional<SecondJob> secondJobOf(std::string_view name) {
  const std::size_t begin = name.find(';');
  if (!name.starts_with(kPipelinePrefix) || begin == std::string_view::npos) return std::nullopt;
  name.remove_prefix(begin + 1);
  const auto stage = parseNumber<std::int32_t>(takeDigits(name));
  if (!stage || !name.starts_with('B')) return std::nullopt;
  name.remove_prefix(1);
  const auto microBatch = parseNumber<std::int32_t>(takeDigits(name));
  if (!microBatch || !name.starts_with(')')) return std::nullopt;
  return SecondJob{*stage, *microBatch};
}

}  // namespace pipetrace
