#pragma once

#include <vector>

#include "parser/profile/arrow.h"

namespace pipetrace {

/// The arrows of a sorted timeline. The jobs and transfers of one micro-batch in one step and
/// pipeline are a chain in order of their begin: forward through the stages, then back. Each link
/// has an arrow to the next. Links are forward, fused, backward and input-gradient jobs, sends, and
/// the receives that begin after the send to them. A receive that is posted earlier is no link
/// between its neighbours.
///
/// If two begin at the same instant, only the first is a link, because the viewers order the ends
/// of an arrow by time. O(n log n) in the number of events.
std::vector<Arrow> findMicroBatchArrows(const Timeline& timeline);

}  // namespace pipetrace
