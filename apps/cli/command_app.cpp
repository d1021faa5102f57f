#include "apps/cli/command_app.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "apps/cli/print.h"
#include "apps/cli/shared_options.h"
#include "trace/error.h"
#include "trace/files/output_names.h"
#include "trace/text/suggestions.h"

namespace pipetrace {
namespace {

/// Help texts as this project lays them out: an option's name and value, and its description beside
/// them, in lines of 100 columns. Old spellings are left out, and so are the options that an option
/// needs or excludes: an error names those.
class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override;
  std::string make_usage(const CLI::App* app, std::string name) const override;
  std::string make_option_name(const CLI::Option* option, bool isPositional) const override;
  std::string make_option(const CLI::Option* option, bool isPositional) const override;
  std::string make_option_opts(const CLI::Option* option) const override;
};

constexpr std::size_t kLineWidth = 100;
constexpr std::size_t kIndent = 2;
constexpr std::size_t kDescriptionColumn = 28;

std::string HelpFormatter::make_help(const CLI::App* app, std::string name,
                                     CLI::AppFormatMode mode) const {
  const std::string text = CLI::Formatter::make_help(app, std::move(name), mode);
  std::string collapsed;
  for (const char c : text) {
    if (c != '\n' || !collapsed.ends_with("\n\n")) collapsed += c;
  }
  return collapsed;
}

std::string HelpFormatter::make_usage(const CLI::App* app, std::string name) const {
  std::string text = CLI::Formatter::make_usage(app, std::move(name));
  const auto* const command = dynamic_cast<const CommandApp*>(app);
  if (command == nullptr || command->program().empty()) return text;
  text.erase(text.find_last_not_of(" \n") + 1);
  return text + " " + kProgramOperand + "...\n";
}

std::string HelpFormatter::make_option_name(const CLI::Option* option, bool isPositional) const {
  if (isPositional) return CLI::Formatter::make_option_name(option, isPositional);
  std::string text;
  for (const std::string& name : option->get_snames()) text += (text.empty() ? "-" : ",-") + name;
  for (const std::string& name : option->get_lnames()) {
    if (!isOldSpelling("--" + name)) text += (text.empty() ? "--" : ",--") + name;
  }
  return text;
}

std::string HelpFormatter::make_option(const CLI::Option* option, bool isPositional) const {
  std::string text(kIndent, ' ');
  text += make_option_name(option, isPositional) + make_option_opts(option);
  std::size_t column = text.size();
  if (column + 2 > kDescriptionColumn) {
    text += '\n';
    column = 0;
  }
  text.append(kDescriptionColumn - column, ' ');
  column = kDescriptionColumn;
  std::istringstream words(make_option_desc(option));
  for (std::string word; words >> word;) {
    const bool isFirst = column == kDescriptionColumn;
    if (!isFirst && column + 1 + word.size() > kLineWidth) {
      text += '\n' + std::string(kDescriptionColumn, ' ');
      column = kDescriptionColumn;
    } else if (!isFirst) {
      text += ' ';
      ++column;
    }
    text += word;
    column += word.size();
  }
  return text + '\n';
}

std::string HelpFormatter::make_option_opts(const CLI::Option* option) const {
  std::string text;
  if (option->get_type_size() != 0 && !option->get_type_name().empty()) {
    text += " " + option->get_type_name();
  }
  const bool takesMany = option->get_positional() || option->get_allow_extra_args();
  if (takesMany && option->get_expected_max() == CLI::detail::expected_max_vector_size) {
    text += " ...";
  }
  return text;
}

/// Broken into lines of at most 100 columns.
std::string wrapped(const std::string& text) {
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

/// The argument that was most likely meant by one that is not expected, or an empty text.
std::string meantBy(const CommandApp& app, const std::string& argument) {
  if (std::string meant = app.adviceOn(argument.substr(0, argument.find('='))); !meant.empty()) {
    return meant;
  }
  if (!argument.starts_with("--")) return "";
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  const std::string meant = nearestOption(argument.substr(0, argument.find('=')), names);
  return isOldSpelling(meant) ? "--" + app.get_option(meant)->get_lnames().front() : meant;
}

/// CLI11 lists unexpected arguments from the last to the first; this lists them in their order.
CLI::ParseError unexpected(const CommandApp& app, const std::vector<std::string>& arguments) {
  std::string text = arguments.size() == 1 ? "The following argument was not expected:"
                                           : "The following arguments were not expected:";
  for (const std::string& argument : arguments) text += " " + argument;
  for (const std::string& argument : arguments) {
    const std::string meant = meantBy(app, argument);
    if (meant.empty()) continue;
    text += "; did you mean " + meant + "?";
    break;
  }
  return {text, CLI::ExitCodes::ExtrasError};
}

/// CLI11 says of an option that was given twice "--steps: At Most 1 required but received 2".
std::optional<CLI::ParseError> givenTwice(const CLI::ParseError& error) {
  const std::string text = error.what();
  const std::size_t at = text.find(": At Most 1 required");
  if (at == std::string::npos) return std::nullopt;
  return CLI::ParseError(text.substr(0, at) + " was given more than once", error.get_exit_code());
}

/// Prints what CLI11 says of an end, and returns its exit code.
int printEnd(const CommandApp& app, const CLI::Error& error) {
  std::ostringstream out;
  std::ostringstream errors;
  const int code = app.exit(error, out, errors);
  if (!out.str().empty()) printText(out.str());
  printError(errors.str());
  return code;
}

/// What is reported of the error. An unknown option is, in place of a missing INPUT, as it may be
/// the reason.
CLI::ParseError reported(const CommandApp& app, const CLI::ParseError& error) {
  const std::vector<std::string> unknown = app.remaining();
  // CLI11 gives this error the name of the program.
  const bool isUnexpected = error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError);
  const bool reportsUnknown = isUnexpected || error.get_name() == "RequiredError";
  if (!unknown.empty() && reportsUnknown) return unexpected(app, unknown);
  return givenTwice(error).value_or(error);
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

std::optional<int> parseCommandLine(CommandApp& app, int argc, char** argv) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return printEnd(app, reported(app, error)) == 0 ? 0 : kExitCouldNot;
  }
  app.refuseInputs();
  return std::nullopt;
}

void parseWords(CommandApp& app, std::vector<std::string> words) {
  std::reverse(words.begin(), words.end());  // as CLI11 takes them
  try {
    app.parse(std::move(words));
  } catch (const CLI::ParseError& error) {
    throw Error(reported(app, error).what());
  }
  app.refuseInputs();
}

}  // namespace pipetrace
