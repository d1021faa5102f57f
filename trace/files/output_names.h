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

}  // namespace pipetrace
