#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace pipetrace {

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

}  // namespace pipetrace
