#include "schedule/file/check_file.h"

namespace pipetrace {

std::vector<Problem> check(const ReadablePlan& file, const CheckOptions& options) {
  std::vector<Problem> problems = file.problems;
  if (file.plan.numStages == 0) return problems;  // not one cell could be read
  if (file.hasWrongRanks) return problems;        // all else depends on the ranks of stages
  const auto isUnreadable = [&](const Problem& problem) {
    if (problem.rank < 0 || problem.cell < 0) return false;
    return file.plan
               .ranks[static_cast<std::size_t>(problem.rank)]
                     [static_cast<std::size_t>(problem.cell)]
               .stage < 0;
  };
  for (const Problem& problem : check(file.plan, options)) {
    if (!isUnreadable(problem)) problems.push_back(problem);
  }
  return problems;
}

}  // namespace pipetrace
