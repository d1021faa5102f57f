#include "parser/profile/arrow.h"

#include "parser/profile/launch_arrows.h"
#include "parser/profile/micro_batch_arrows.h"

namespace pipetrace {

std::vector<Arrow> findArrows(const Timeline& timeline) {
  std::vector<Arrow> arrows = findMicroBatchArrows(timeline);
  const std::vector<Arrow> launches = findLaunchArrows(timeline);
  arrows.insert(arrows.end(), launches.begin(), launches.end());
  return arrows;
}

}  // namespace pipetrace
