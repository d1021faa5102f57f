#pragma once

#include <vector>

#include "parser/profile/arrow.h"

namespace pipetrace {

/// An arrow from each send to the receive with the same number (message_arguments::kMessage), as
/// messages without a micro-batch have it. Only where the receive begins later: one that begins
/// earlier waited, and front ends draw no arrow back in time. Linear.
std::vector<Arrow> findMessageArrows(const Timeline& timeline);

}  // namespace pipetrace
