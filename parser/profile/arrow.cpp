#include "parser/profile/arrow.h"

#include "parser/profile/launch_arrows.h"
#include "parser/profile/message_arrows.h"
#include "parser/profile/micro_batch_arrows.h"

namespace pipetrace {

std::vector<Arrow> findArrows(const Timeline& timeline) {
  std::vector<Arrow> arrows = findMicroBatchArrows(timeline);
  for (const auto find : {findLaunchArrows, findMessageArrows}) {
    const std::vector<Arrow> more = find(timeline);
    arrows.insert(arrows.end(), more.begin(), more.end());
  }
  return arrows;
}

}  // namespace pipetrace
