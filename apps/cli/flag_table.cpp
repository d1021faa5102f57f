#include "apps/cli/flag_table.h"

#include <algorithm>
#include <sstream>
#include <utility>

#include "apps/cli/command_app.h"
#include "apps/cli/shared_options.h"

namespace pipetrace {
namespace {

Flag flagOf(const CommandApp& app, const CLI::Option& option) {
  Flag flag;
  for (const std::string& name : option.get_snames()) flag.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) {
    if (!isOldSpelling("--" + name)) flag.names.push_back("--" + name);
  }
  flag.isPositional = flag.names.empty();
  if (flag.isPositional) flag.names.push_back(option.get_name());
  flag.isRequired = flag.isPositional && option.get_required();
  flag.isRepeated =
      flag.isPositional && option.get_expected_max() == CLI::detail::expected_max_vector_size;
  if (option.get_type_size() != 0) flag.value = option.get_type_name();
  flag.description = option.get_description();
  flag.group = option.get_group();
  flag.words = app.wordsOf(&option);
  flag.endings = app.endingsOf(&option);
  return flag;
}

}  // namespace

std::vector<std::string> Flag::choices() const {
  if (!words.empty()) return words;
  std::vector<std::string> listed;
  if (value.find('|') == std::string::npos) return listed;
  std::istringstream in(value);
  for (std::string word; std::getline(in, word, '|');) listed.push_back(word);
  return listed;
}

bool Flag::takesFile() const {
  if (isPositional) return !isProgram && choices().empty();
  return value == "INPUT" || value == "OUT" || value.starts_with("FILE") ||
         value.starts_with("DIR");
}

bool FlagTable::takesFiles() const {
  return std::any_of(flags.begin(), flags.end(),
                     [](const Flag& flag) { return flag.isPositional && flag.takesFile(); });
}

bool FlagTable::takesProgram() const {
  return std::any_of(flags.begin(), flags.end(), [](const Flag& flag) { return flag.isProgram; });
}

FlagTable flagTableOf(const CommandApp& app, std::string command, std::string summary) {
  FlagTable table{.command = std::move(command),
                  .summary = std::move(summary),
                  .description = app.get_description(),
                  .flags = {},
                  .exitCodes = app.exitCodes(),
                  .examples = app.examples()};
  for (const CLI::Option* option : app.get_options()) {
    if (!option->get_group().empty()) table.flags.push_back(flagOf(app, *option));
  }
  if (!app.program().empty()) {
    table.flags.push_back({.names = {kProgramOperand},
                           .value = {},
                           .description = app.program(),
                           .group = "Options",
                           .isPositional = true,
                           .isRequired = true,
                           .isRepeated = true,
                           .isProgram = true,
                           .words = {},
                           .endings = {}});
  }
  return table;
}

}  // namespace pipetrace
