#include "apps/cli/help_formatter.h"

#include <sstream>
#include <utility>

#include "apps/cli/command_app.h"
#include "apps/cli/shared_options.h"

namespace pipetrace {
namespace {

constexpr std::size_t kLineWidth = 100;
constexpr std::size_t kIndent = 2;
constexpr std::size_t kDescriptionColumn = 28;

}  // namespace

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

}  // namespace pipetrace
