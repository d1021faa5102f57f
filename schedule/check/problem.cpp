#include "schedule/check/problem.h"

namespace pipetrace {

std::string toText(const Problem& problem) {
  std::string text;
  if (problem.rank >= 0) text += "rank " + std::to_string(problem.rank);
  if (problem.cell >= 0) text += ", cell " + std::to_string(problem.cell);
  return text.empty() ? problem.message : text + ": " + problem.message;
}

}  // namespace pipetrace
