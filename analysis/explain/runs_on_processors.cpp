#include "analysis/explain/runs_on_processors.h"

#include <algorithm>

namespace pipetrace {

bool runsOnProcessors(const Timeline& timeline) {
  const auto isProcessor = [](const auto& rank) {
    return rank.second.device == "cpu" || rank.second.device == "emulated";
  };
  return !timeline.ranks.empty() &&
         std::all_of(timeline.ranks.begin(), timeline.ranks.end(), isProcessor);
}

}  // namespace pipetrace
