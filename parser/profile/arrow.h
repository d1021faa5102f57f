#pragma once

#include <cstdint>
#include <vector>

#include "trace/timeline.h"

namespace pipetrace {

/// An arrow between two slices of a profile. Positions are those in Timeline::tracks and
/// Track::events.
struct Arrow {
  struct Slice {
    std::uint32_t track = 0;
    std::uint32_t event = 0;
  };
  Slice from;
  Slice to;  ///< begins later than `from` begins
};

/// Whether the event has an instant that is neither its begin nor its end. Other events of its row
/// may have those two, and Catapult takes an arrow there for one of theirs.
inline bool hasInside(const Event& event) {
  return event.begin < event.end && event.begin < event.end - 1;
}

/// All arrows of a profile: those of its micro-batches, those from launch to run, and
/// those of messages without a micro-batch.
std::vector<Arrow> findArrows(const Timeline& timeline);

/// An arrow from each event of a rank's lane `host` to the compute job with its number: from the
/// launch of a job to its run on a device. Only where the job begins later. Linear in the number of
/// events on both lanes.
std::vector<Arrow> findLaunchArrows(const Timeline& timeline);

/// An arrow from each send to the receive with the same number (message_arguments::kMessage), as
/// messages without a micro-batch have it. Only where the receive begins later: one that begins
/// earlier waited, and front ends draw no arrow back in time. Linear.
std::vector<Arrow> findMessageArrows(const Timeline& timeline);

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
