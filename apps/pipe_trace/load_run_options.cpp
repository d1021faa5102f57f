#include "apps/pipe_trace/load_run_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <optional>
#include <string_view>

#include "apps/pipe_trace/foreign_options.h"

namespace pipetrace {
namespace {

constexpr int kMostThreads = 4096;
constexpr int kHighestNumber = 1'000'000'000;
constexpr int kMostRanks = 100'000;

/// Of digits alone, up to kHighestNumber.
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

void addSelectionOptions(CLI::App& app, Selection& selection) {
  app.add_option_function<std::string>(
         "--steps",
         [&](const std::string& text) {
           selection.steps = {given(stepsFrom(text), "--steps", text,
                                    "write A:B for the steps from A to B - 1, A:, :B, or one")};
         },
         "Only these steps: A:B for those from A to B - 1, A:, :B, or one")
      ->type_name("A:B");
  app.add_option_function<std::vector<std::string>>(
         "--ranks",
         [&](const std::vector<std::string>& list) {
           selection.ranks = rangesFrom(list, "--ranks");
         },
         "Only these ranks, as in 0,2,4-7; may be given several times")
      ->type_name("LIST")
      ->delimiter(',')
      ->allow_extra_args(false);
  app.add_option("--skip", selection.skippedTypes,
                 "Leave out what is of these types, as in recv_forward,lr; may be given several "
                 "times; none: nothing")
      ->type_name("LIST")
      ->delimiter(',')
      ->allow_extra_args(false);
}

void addTopologyOptions(CLI::App& app, GivenTopology& topology) {
  const auto add = [&](const char* name, std::optional<int>& number, const char* what) {
    app.add_option(name, number, what)
        ->type_name("N")
        ->check(CLI::Range(1, kMostRanks).description(""));
  };
  add("--pp", topology.pipelineRanks, "Ranks of a pipeline, where the logs do not say it");
  add("--dp", topology.replicas, "Pipelines (data parallel), where the logs do not say it");
  add("--vpp", topology.chunks, "Stages on a rank, where the logs do not say it");
}

}  // namespace

std::vector<NumberRange> rangesFrom(const std::vector<std::string>& list, const char* option) {
  std::vector<NumberRange> ranges;
  for (const std::string& text : list) {
    ranges.push_back(given(rangeFrom(text), option, text, "write a list as 0,2,4-7"));
  }
  return ranges;
}

void addLoadRunOptions(CLI::App& app, LoadRunOptions& options) {
  app.add_option("INPUT", options.inputs,
                 "Folders with workerlog.<rank>, single logs, profiles; - is standard input")
      ->type_name("");
  app.add_option("--threads", options.reading.threads,
                 "How many threads may read and write (default: 0, one per core)")
      ->type_name("N")
      ->check(CLI::Range(0, kMostThreads).description(""));
  app.add_option(
         "--run", options.reading.run,
         "Of logs that hold several runs, read this one, counted from 0 (default: the last)")
      ->type_name("N")
      ->check(CLI::Range(0, kHighestNumber).description(""));
  addForeignOptions(app, options);
  addSelectionOptions(app, options.selection);
  addTopologyOptions(app, options.topology);
  app.add_option_function<std::string>(
         "--align", [&](const std::string& how) { options.align = how == "log"; },
         "log: times in rank 0's clock, by what the logs know of it (default); none: as logged")
      ->type_name("none|log")
      ->check(CLI::IsMember({"none", "log"}).description(""));
  app.add_flag("--strict", options.strict, "Exit with 1 if something is wrong in the input");
  app.add_flag("-q,--quiet", options.quiet, "Print errors only, and with --strict its findings");
}

}  // namespace pipetrace
