#pragma once

#include <vector>

#include "parser/profile/arrow.h"

namespace pipetrace {

/// An arrow from each event of a rank's lane `host` to the compute job with its number: from the
/// launch of a job to its run on a device. Only where the job begins later. Linear in the number of
/// events on both lanes.
std::vector<Arrow> findLaunchArrows(const Timeline& timeline);

}  // namespace pipetrace
