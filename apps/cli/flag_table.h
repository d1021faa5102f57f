#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace pipetrace {

/// An option or a positional argument of a command, as its flag table declares it.
struct Flag {
  std::vector<std::string> names;  ///< "-o", "--output"; of a positional one, "FILE"
  std::string value;               ///< what it takes: "FILE", "N", "json|csv"; empty: nothing
  std::string description;
  std::string group;
  bool isPositional = false;
  bool isRepeated = false;         ///< a positional one that takes as many as there are
  std::vector<std::string> words;  ///< what it takes, where `value` does not list it
  /// Of a positional one that takes files: their endings, without the dot. Empty: any.
  std::vector<std::string> endings;

  /// The only words that it takes: `words`, or those that `value` lists.
  std::vector<std::string> choices() const;

  /// Whether it may be a file or folder.
  bool takesFile() const;
};

/// What a command line of a program may hold: its flag table, as CLI11 was told it.
struct FlagTable {
  std::string command;  ///< "plan"; empty: the program without a command
  std::string summary;  ///< one line, of a command
  std::string description;
  std::string footer;
  std::vector<Flag> flags;
};

FlagTable flagTableOf(const CLI::App& app, std::string command, std::string summary);

}  // namespace pipetrace
