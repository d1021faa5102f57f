#include "schedule/check/checked_plan.h"

#include <string>
#include <utility>

#include "schedule/check/check.h"
#include "trace/error.h"

namespace pipetrace {

CheckedPlan::CheckedPlan(Plan&& plan) : plan_(std::move(plan)) {
  const ProblemList problems = findProblems(plan_);
  if (problems.empty()) return;
  std::string text = "the plan " + plan_.name + " cannot run:";
  constexpr std::size_t kShown = 20;
  for (const Problem& problem : problems.toVector(kShown)) text += "\n  " + toText(problem);
  throw Error(text);
}

}  // namespace pipetrace
