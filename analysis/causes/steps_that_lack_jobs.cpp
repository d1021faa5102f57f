#include "analysis/causes/steps_that_lack_jobs.h"

#include <map>

#include "trace/text/number_text.h"

namespace pipetrace {

std::string StepsThatLackJobs::text() const {
  if (!whole) return "jobs are missing in every step";
  return "jobs are missing in " + countText(steps.size(), "step");
}

std::string StepsThatLackJobs::leaveOutText() const {
  if (!whole) return {};
  return std::string("leave ") + (steps.size() == 1 ? "it" : "these") + " out with --steps " +
         std::to_string(whole->begin) + ":" + std::to_string(whole->end);
}

StepsThatLackJobs stepsThatLackJobs(const RunBasis& basis, const CountedSteps& counted) {
  std::map<std::int32_t, bool> isWhole;
  for (const PipelineBasis& pipeline : basis.pipelines()) {
    for (const BubbleWindow& window : pipeline.windows) {
      if (!counted.contains(window.step)) continue;
      const auto [known, isNew] = isWhole.try_emplace(window.step, window.isWhole);
      known->second = known->second && window.isWhole;
    }
  }
  StepsThatLackJobs lacking;
  NumberRange stretch{0, 0};
  bool goesOn = false;
  for (const auto& [step, whole] : isWhole) {
    if (!whole) lacking.steps.push_back(step);
    if (whole && !goesOn) stretch.begin = step;
    if (whole) stretch.end = step + std::int64_t{1};
    goesOn = whole;
    const bool isLonger =
        !lacking.whole || stretch.end - stretch.begin > lacking.whole->end - lacking.whole->begin;
    if (whole && isLonger) lacking.whole = stretch;
  }
  return lacking;
}

}  // namespace pipetrace
