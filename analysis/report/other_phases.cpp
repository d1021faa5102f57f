#include "analysis/report/other_phases.h"

#include <algorithm>
#include <map>

#include "trace/text/decimal_time.h"
#include "trace/text/ranks_text.h"

namespace pipetrace {

std::vector<OtherPhase> otherPhasesOf(const RunSummary& summary) {
  std::map<Phase, std::map<std::int32_t, Nanoseconds>> phases;
  for (const StepWindow& step : summary.otherSteps) {
    Nanoseconds& time = phases[step.phase][step.step];
    time = std::max(time, step.window());
  }
  std::vector<OtherPhase> others;
  for (const auto& [phase, steps] : phases) {
    OtherPhase& other = others.emplace_back();
    other.phase = phase;
    for (const auto& [number, time] : steps) {
      other.steps.push_back(number);
      other.time += time;
    }
  }
  return others;
}

std::string phaseLines(const RunSummary& summary) {
  std::string text;
  if (summary.phase != Phase::kTraining) {
    text += "no step is of training: all figures are about the phase " +
            std::string(logName(summary.phase)) + "\n";
  }
  for (const OtherPhase& other : otherPhasesOf(summary)) {
    const bool isOne = other.steps.size() == 1;
    text += (isOne ? "step " : "steps ") + numbersText(other.steps) + (isOne ? " is" : " are") +
            " of the phase " + std::string(logName(other.phase)) +
            (isOne ? " and takes " : " and take ") + formatDuration(other.time) +
            (isOne ? "; no figure counts it\n" : "; no figure counts them\n");
  }
  return text;
}

}  // namespace pipetrace
