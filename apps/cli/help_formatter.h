#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace pipetrace {

/// Help texts as this project lays them out: an option's name and value, its description beside
/// it, broken into lines of 100 columns. What excludes or needs what is told when it is missed.
class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override;
  std::string make_option(const CLI::Option* option, bool isPositional) const override;
  std::string make_option_opts(const CLI::Option* option) const override;
};

}  // namespace pipetrace
