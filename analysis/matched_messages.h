#pragma once

#include <functional>
#include <vector>

#include "trace/timeline.h"

namespace pipetrace {

/// A message with both of its ends. The events are the timeline's.
struct MatchedMessage {
  int sender = 0;    ///< rank
  int receiver = 0;  ///< rank
  const Event* send = nullptr;
  const Event* receive = nullptr;
};

/// The messages between two ranks whose two ends are in the timeline. Ends belong together if they
/// name the same two ranks, direction, step and micro-batch. Two ranks may exchange several such
/// messages, one for each pair of their stages; these are matched by stage, and then in the order
/// of their begins on each rank. So are those of jobs that were found and have no stage yet
/// (numberFoundJobs()), whatever their micro-batches. So times of different ranks are not compared.
/// Where one end of them is missing, none of them is matched.
///
/// `isWanted` chooses ends. Sorted by sender, receiver, step, micro-batch. Uses that many threads,
/// which make no difference to the result; each of them calls `isWanted`.
std::vector<MatchedMessage> matchedMessages(const Timeline& timeline,
                                            const std::function<bool(const Event&)>& isWanted = {},
                                            int threads = 1);

}  // namespace pipetrace
