#pragma once

#include <cstdint>

#include "trace/diagnostic.h"
#include "trace/timeline.h"

namespace pipetrace {

/// The outcome of an alignment by messages.
enum class ByMessages : std::uint8_t {
  kNothing,  ///< no messages tie the clocks of two hosts
  kAligned,
  kAlignedWithJobs,  ///< the same, and jobs counted, too
  kRefused,          ///< messages contradict each other
};

/// Evidence of how clocks are apart, beside messages.
struct ClockEvidence {
  bool areJobs = false;      ///< jobs too, between ranks that exchange no messages (jobCrossings())
  bool isRankClock = false;  ///< ranks of one host have clocks of their own, too
  bool mayRefuse = true;     ///< a contradiction is a warning; else it is passed over
};

/// Converts the times of every host to the first host's clock, so that no message is received
/// before it is sent (fitClocks()). Ranks of the converted hosts then have clock readings that say
/// so, with an offset of 0 and how exact the conversion is. Those of the log are dropped.
///
/// Nothing is converted where messages contradict each other, which is a warning, and where there
/// is one host. Hosts that no messages in both directions tie to the first stay as they are. That
/// is a warning if others are tied, or if `isAsked`. The returned timeline is sorted.
Timeline alignedByMessages(Timeline timeline, bool isAsked, const ClockEvidence& evidence,
                           Diagnostics& diagnostics, ByMessages& result);

}  // namespace pipetrace
