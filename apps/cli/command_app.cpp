#include "apps/cli/command_app.h"

#include <filesystem>
#include <memory>
#include <sstream>
#include <system_error>
#include <utility>

#include "apps/cli/help_formatter.h"
#include "trace/files/output_names.h"

namespace pipetrace {
namespace {

/// Broken into lines of at most 100 columns.
std::string wrapped(const std::string& text) {
  constexpr std::size_t kLineWidth = 100;
  std::string lines;
  std::size_t column = 0;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const bool isFirst = lines.empty();
    const bool fits = column + 1 + word.size() <= kLineWidth;
    if (!isFirst) lines += fits ? ' ' : '\n';
    column = isFirst || !fits ? word.size() : column + 1 + word.size();
    lines += word;
  }
  return lines;
}

std::string footerOf(const std::vector<ExitCode>& exitCodes,
                     const std::vector<std::string>& examples) {
  std::string codes;
  for (const ExitCode& each : exitCodes) {
    codes += (codes.empty() ? "Exit codes: " : "; ") + each.code + " " + each.meaning;
  }
  std::string text = codes.empty() ? "" : wrapped(codes + ".");
  if (!text.empty() && !examples.empty()) text += "\n";
  if (examples.size() == 1) return text + "Example: " + examples.front();
  if (!examples.empty()) text += "Examples:";
  for (const std::string& example : examples) text += "\n  " + example;
  return text;
}

}  // namespace

CommandApp::CommandApp(const std::string& name) : CLI::App("", name) {
  formatter(std::make_shared<HelpFormatter>());
  failure_message([](const CLI::App* failed, const CLI::Error& error) {
    return failed->get_name() + ": " + CLI::FailureMessage::simple(failed, error);
  });
}

void CommandApp::describeEnd(std::vector<ExitCode> exitCodes, std::vector<std::string> examples) {
  exitCodes_ = std::move(exitCodes);
  examples_ = std::move(examples);
  footer(footerOf(exitCodes_, examples_));
}

std::string CommandApp::adviceOn(const std::string& argument) const {
  for (const Advice& advice : advice_) {
    if (std::string meant = advice(argument); !meant.empty()) return meant;
  }
  return "";
}

void CommandApp::offer(const CLI::Option* option, std::vector<std::string> words) {
  words_[option] = std::move(words);
}

void CommandApp::offerFiles(const CLI::Option* argument, std::vector<std::string> endings) {
  endings_[argument] = std::move(endings);
}

void CommandApp::refuseInputs() const {
  std::vector<std::string> inputs;
  for (const CLI::Option* const option : get_options()) {
    if (outputs_.contains(option)) continue;
    for (const std::string& value : option->results()) {
      std::error_code error;  // most values are no files
      if (std::filesystem::is_regular_file(value, error)) inputs.push_back(value);
    }
  }
  for (const CLI::Option* const option : outputs_) {
    for (const std::string& output : option->results()) refuseInput(output, inputs);
  }
}

std::vector<std::string> CommandApp::wordsOf(const CLI::Option* option) const {
  const auto found = words_.find(option);
  return found == words_.end() ? std::vector<std::string>() : found->second;
}

std::vector<std::string> CommandApp::endingsOf(const CLI::Option* argument) const {
  const auto found = endings_.find(argument);
  return found == endings_.end() ? std::vector<std::string>() : found->second;
}

std::vector<ExitCode> exitCodesOfReading() {
  return {
      {"0", "done"}, {"1", "done, with --strict and findings in the input"}, {"2", "could not"}};
}

}  // namespace pipetrace
