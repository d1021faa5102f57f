#pragma once

#include <cstdint>

#include "trace/diagnostic.h"
#include "trace/timeline.h"

namespace pipetrace {

/// The outcome of an alignment by messages.
enum class ByMessages : std::uint8_t {
  kNothing,  ///< no messages tie the clocks of two hosts
  kAligned,
  kRefused,  ///< messages contradict each other
};

/// Converts the times of every host to the first host's clock, so that no message is received
/// before it is sent (fitClocks()). Ranks of the converted hosts then have clock readings that say
/// so, with an offset of 0 and how exact the conversion is. Those of the log are dropped.
///
/// Nothing is converted where messages contradict each other, which is a warning, and where there
/// is one host. Hosts that no messages in both directions tie to the first stay as they are. That
/// is a warning if others are tied, or if `isAsked`. The returned timeline is sorted.
Timeline alignedByMessages(Timeline timeline, bool isAsked, Diagnostics& diagnostics,
                           ByMessages& result);

}  // namespace pipetrace
