#include "apps/cli/shared_options.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

namespace pipetrace {

bool isOldSpelling(std::string_view name) {
  static constexpr std::array<std::string_view, 1> kOld = {"--stages"};
  return std::find(kOld.begin(), kOld.end(), name) != kOld.end();
}

void addThemeOptions(CLI::App& app, CLI::Option* output, ThemeName& theme, bool& isDark) {
  std::vector<std::string> names;
  for (int i = 0; i < kThemeCount; ++i) {
    names.emplace_back(nameOf(static_cast<ThemeName>(i)));
  }
  app.add_option_function<std::string>(
         shared::kTheme.names,
         [&theme](const std::string& name) { theme = themeNamed(name).value_or(theme); },
         shared::kTheme.help)
      ->type_name(shared::kTheme.value)
      ->check(CLI::IsMember(names).description(""))
      ->group(output->get_group())
      ->needs(output);
  addShared(app, shared::kDark, isDark)->group(output->get_group())->needs(output);
}

}  // namespace pipetrace
