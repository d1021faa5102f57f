#pragma once

#include <cstdint>
#include <vector>

#include "analysis/explain/explanation.h"

namespace pipetrace {

/// A bubble, a job or a message that shows what a finding is about.
struct Evidence {
  enum class Role : std::uint8_t { kBubble, kCulprit, kInPause, kAfterPause, kEarlyMessage };

  Role role = Role::kBubble;
  int rank = 0;
  Bubble bubble;                 ///< of the role kBubble
  const Event* event = nullptr;  ///< of the other roles; in the timeline that was explained
};

/// Returns what shows a finding of the run, the best first. Idle time has its longest bubbles, then
/// the job that is to blame. Pauses have the longest work in the longest of them, then the first
/// job after it. Early messages have the earliest. Empty where there is none.
std::vector<Evidence> evidenceOf(const Explanation& run, const Finding& finding);

}  // namespace pipetrace
