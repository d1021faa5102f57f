#include "apps/cli/selection_options.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

#include "apps/cli/checks.h"
#include "apps/cli/shared_options.h"

namespace pipetrace {
namespace {

constexpr int kHighestNumber = 1'000'000'000;
constexpr int kHighestStep = 2'000'000'000;

/// A number of digits alone, up to kHighestNumber.
std::optional<int> numberFrom(std::string_view text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool isNumber = error == std::errc{} && end == text.data() + text.size();
  if (!isNumber || text.starts_with('-') || number > kHighestNumber) return std::nullopt;
  return number;
}

/// "2:5", "2:", ":5" and "2".
std::optional<NumberRange> stepsFrom(std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::string_view from = text.substr(0, colon);
  const bool isOpen = colon != text.npos && colon + 1 == text.size();
  const std::optional<int> begin = from.empty() && colon == 0 && !isOpen ? 0 : numberFrom(from);
  if (!begin) return std::nullopt;
  if (isOpen) return NumberRange{*begin};
  const std::optional<int> end =
      colon == text.npos ? *begin + 1 : numberFrom(text.substr(colon + 1));
  if (!end || *end <= *begin) return std::nullopt;
  return NumberRange{*begin, *end};
}

/// "3" and "4-7".
std::optional<NumberRange> rangeFrom(std::string_view text) {
  const std::size_t dash = text.find('-');
  const std::optional<int> first = numberFrom(text.substr(0, dash));
  const std::optional<int> last = dash == text.npos ? first : numberFrom(text.substr(dash + 1));
  if (!first || !last || *last < *first) return std::nullopt;
  return NumberRange{*first, std::int64_t{*last} + 1};
}

NumberRange given(const std::optional<NumberRange>& range, const char* option,
                  const std::string& text, const char* advice) {
  if (range) return *range;
  throw CLI::ValidationError(option, fmt::format("\"{}\" makes no sense; {}", text, advice));
}

}  // namespace

CLI::Option* addStepOption(CLI::App& app, std::function<void(int)> take, const char* more) {
  return app
      .add_option_function<int>(shared::kStep.names, std::move(take),
                                std::string(shared::kStep.help) + more)
      ->type_name(shared::kStep.value)
      ->check(
          [](const std::string& text) {
            return text.find(':') == std::string::npos
                       ? std::string()
                       : fmt::format("{} is no number; for several steps write {} {}", text,
                                     shared::kSteps.names, text);
          },
          "")
      ->check(range(0, kHighestStep));
}

CLI::Option* addStepsOption(CLI::App& app, std::function<void(const NumberRange&)> take) {
  return app
      .add_option_function<std::string>(
          shared::kSteps.names,
          [take = std::move(take)](const std::string& text) {
            take(given(stepsFrom(text), shared::kSteps.names, text,
                       "write A:B for the steps from A to B - 1, A:, :B, or one"));
          },
          shared::kSteps.help)
      ->type_name(shared::kSteps.value);
}

CLI::Option* addRanksOption(CLI::App& app, std::vector<NumberRange>& ranks) {
  return app
      .add_option_function<std::vector<std::string>>(
          shared::kRanks.names,
          [&ranks](const std::vector<std::string>& list) {
            ranks = rangesFrom(list, shared::kRanks.names);
          },
          shared::kRanks.help)
      ->type_name(shared::kRanks.value)
      ->delimiter(',')
      ->allow_extra_args(false);
}

CLI::Option* addAlignOption(CLI::App& app, AlignBy& align) {
  return app
      .add_option_function<std::string>(
          shared::kAlign.names,
          [&align](const std::string& how) {
            align = how == "none"  ? AlignBy::kNone
                    : how == "log" ? AlignBy::kLog
                                   : AlignBy::kCausal;
          },
          shared::kAlign.help)
      ->type_name(shared::kAlign.value)
      ->check(CLI::IsMember({"none", "log", "causal"}).description(""));
}

std::vector<NumberRange> rangesFrom(const std::vector<std::string>& list, const char* option) {
  std::vector<NumberRange> ranges;
  for (const std::string& text : list) {
    ranges.push_back(given(rangeFrom(text), option, text, "write a list as 0,2,4-7"));
  }
  return ranges;
}

}  // namespace pipetrace
