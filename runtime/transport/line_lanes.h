#pragma once

#include <cstddef>
#include <memory>

#include "runtime/lanes/lane.h"
#include "runtime/transport/message_line.h"

namespace pipetrace {

/// The two ends of a lane on a line. Messages of the first step go over `host`, the same lane of
/// the host's transport. `messages`: the most that are on their way. `forward`: whether the lane
/// brings activations. `line` must outlive them.
std::unique_ptr<SendLane<Message>> makeLineSendLane(MessageLine& line, int peer,
                                                    std::size_t messages,
                                                    std::unique_ptr<SendLane<Message>> host);
std::unique_ptr<ReceiveLane<Message>> makeLineReceiveLane(
    MessageLine& line, int peer, bool forward, std::size_t messages,
    std::unique_ptr<ReceiveLane<Message>> host);

}  // namespace pipetrace
