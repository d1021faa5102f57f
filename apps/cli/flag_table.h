#pragma once

#include <string>
#include <vector>

namespace pipetrace {

class CommandApp;

/// A way in which a program ends.
struct ExitCode {
  std::string code;     ///< "0", "128 + n"
  std::string meaning;  ///< "done"
};

/// An option or a positional argument of a command, as its flag table declares it.
struct Flag {
  std::vector<std::string> names;  ///< "-o", "--output"; of a positional one, "FILE"
  std::string value;               ///< the kind of its value: "FILE", "N", "json|csv"; empty: none
  std::string description;
  std::string group;
  bool isPositional = false;
  bool isRequired = false;         ///< a positional one without which the command fails
  bool isRepeated = false;         ///< a positional one that takes as many as there are
  bool isProgram = false;          ///< a positional one: a program and its arguments, after "--"
  std::vector<std::string> words;  ///< values to offer, where `value` does not list them
  /// The endings of the files that a positional one takes, without the dot. Empty: any.
  std::vector<std::string> endings;

  /// The words to offer: `words`, or those that `value` lists. An option with words that takes a
  /// file takes other values, too.
  std::vector<std::string> choices() const;

  /// Whether it may be a file or folder.
  bool takesFile() const;
};

/// The arguments that a program or one of its commands takes, and its help. Old spellings are left
/// out.
struct FlagTable {
  std::string command;  ///< "plan"; empty: the program without a command
  std::string summary;  ///< one line, of a command
  std::string description;
  std::vector<Flag> flags;
  std::vector<ExitCode> exitCodes;
  std::vector<std::string> examples;

  /// Whether a positional argument may be a file.
  bool takesFiles() const;
  /// Whether it takes a program after "--".
  bool takesProgram() const;
};

FlagTable flagTableOf(const CommandApp& app, std::string command, std::string summary);

}  // namespace pipetrace
