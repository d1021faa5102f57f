#pragma once

#include <set>
#include <string>
#include <vector>

namespace pipetrace {

/// Tests: the words that shells offer in a folder, by the scripts that `PROGRAM completions SHELL`
/// prints. A fault of a script fails the test.
class ShellOffers {
 public:
  /// `program` is a path whose last part users type.
  ShellOffers(std::string program, std::string folder);
  ~ShellOffers();
  ShellOffers(const ShellOffers&) = delete;
  ShellOffers& operator=(const ShellOffers&) = delete;

  static bool hasFish();
  /// Whether there are zsh and a pseudo terminal to run it in.
  static bool hasZsh();

  /// For the last of these words.
  std::vector<std::string> bash(const std::vector<std::string>& words) const;
  /// For the end of this line.
  std::vector<std::string> fish(const std::string& line) const;
  std::set<std::string> zsh(const std::string& line) const;

 private:
  std::string path(const std::string& name) const { return scripts_ + "/" + name; }
  void write(const std::string& name, const std::string& text) const;
  void writeScript(const std::string& shell, const std::string& name) const;

  std::string program_;
  std::string name_;  // "pipe-trace"
  std::string folder_;
  std::string scripts_;  // a folder of its own, without blanks in its name
};

}  // namespace pipetrace
