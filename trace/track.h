#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "trace/event.h"

namespace pipetrace {

/// Names of lanes that this project writes. A log may name others.
inline constexpr std::string_view kComputeLane = "compute";
inline constexpr std::string_view kSendLane = "send";
inline constexpr std::string_view kRecvLane = "recv";
/// Sends and receives of activations and of gradients apart, as the runtime records them.
inline constexpr std::string_view kSendForwardLane = "send_forward";
inline constexpr std::string_view kSendBackwardLane = "send_backward";
inline constexpr std::string_view kRecvForwardLane = "recv_forward";
inline constexpr std::string_view kRecvBackwardLane = "recv_backward";
/// A line: sends and receives that run one after the other. A line of two ranks has the other rank
/// after it, "messages_3".
inline constexpr std::string_view kLineLane = "messages";
inline constexpr std::string_view kReductionLane = "all_reduce";
/// The writing of checkpoints, beside the training.
inline constexpr std::string_view kCheckpointLane = "checkpoint";
inline constexpr std::string_view kBubbleLane = "bubbles";
/// The host's annotations of jobs whose times on the compute lane are the device's.
inline constexpr std::string_view kHostLane = "host";

/// Whether a lane of that name holds the sends, or the receives, between stages.
constexpr bool isSendLane(std::string_view lane) {
  return lane == kSendLane || lane == kSendForwardLane || lane == kSendBackwardLane;
}
constexpr bool isRecvLane(std::string_view lane) {
  return lane == kRecvLane || lane == kRecvForwardLane || lane == kRecvBackwardLane;
}

/// One lane of one rank: the events of one stream.
struct Track {
  int rank = 0;
  std::string lane{kComputeLane};
  std::vector<Event> events;  ///< sorted by startsBefore once Timeline::sort() has run
};

/// The order of lanes: compute, then bubbles, then the others by name.
bool laneComesBefore(std::string_view a, std::string_view b);

}  // namespace pipetrace
