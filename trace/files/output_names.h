#pragma once

#include <string>
#include <vector>

namespace pipetrace {

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
