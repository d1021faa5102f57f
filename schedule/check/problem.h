#pragma once

#include <cstdint>
#include <string>

namespace pipetrace {

/// Something that keeps a plan from running.
struct Problem {
  int rank = -1;  ///< -1: not about one rank
  int cell = -1;  ///< index into the rank's actions; -1: not about one action
  std::string message;
  std::int64_t line = 0;    ///< of the file that was read, from 1; 0: not about one line
  std::int64_t column = 0;  ///< in bytes, from 1; with a line only
};

/// "rank 2, cell 5: …", without line and column
std::string toText(const Problem& problem);

}  // namespace pipetrace
