#pragma once

#include <string>
#include <vector>

namespace pipetrace {

/// The outputs of one call, none of which may be named twice.
class OutputNames {
 public:
  /// "-" is standard output. Throws Error when the file that `path` names was added before, by
  /// whatever name (hard links aside).
  void add(const std::string& path);

 private:
  std::vector<std::string> files_;  // what the names lead to
};

}  // namespace pipetrace
