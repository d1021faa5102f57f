#pragma once

#include <string>
#include <vector>

namespace pipetrace {

/// The absolute path of the file that `path` names, with all links followed. The file need not
/// exist. Two names of one file give one path, hard links aside. Links that lead back to themselves
/// stay as they are.
std::string fileBehind(const std::string& path);

/// Whether both names lead to one file, through links of either kind: by device and inode. Files
/// that do not exist have one path.
bool isSameFile(const std::string& a, const std::string& b);

/// The names of the outputs of a program. No output may be named twice.
class OutputNames {
 public:
  /// Adds a name; "-" is standard output. Throws Error if the file was added before, under this or
  /// another name (hard links aside).
  void add(const std::string& path);

 private:
  std::vector<std::string> files_;  // the files that the names lead to
};

/// Throws Error for an output that would replace one of the inputs, whatever its names ("-" is a
/// standard stream). Every program asks this of all its outputs.
void refuseInput(const std::string& output, const std::vector<std::string>& inputs);

/// Throws that Error.
[[noreturn]] void refuseAsInput(const std::string& output);

}  // namespace pipetrace
