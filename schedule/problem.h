#pragma once

#include <string>

namespace pipetrace {

/// Something that keeps a plan from running.
struct Problem {
  int rank = -1;  ///< -1: not about one rank
  int cell = -1;  ///< index into the rank's actions; -1: not about one action
  std::string message;
};

/// "rank 2, cell 5: …"
std::string toText(const Problem& problem);

}  // namespace pipetrace
