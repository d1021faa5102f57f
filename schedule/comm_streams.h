#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "trace/track.h"

namespace pipetrace {

/// Which messages of a full plan wait for each other, and whether they wait for their place among
/// the jobs of their rank's row.
///
/// On GPUs the host runs far ahead of the device, so that place plays no part. Messages run on
/// streams of their own: a line. The messages of a line run one after the other, in the order in
/// which the rank has them. A message begins when its data is there and it is its turn on the lines
/// of both its ends. It holds them until it has arrived.
///
/// Source: NCCL runs what is given to one communicator one after the other.
/// torch.distributed.pipelining gives all messages of a rank to one. It has two with communicators
/// for each direction (pytorch 186173), and one for each ordered pair of ranks with directed groups
/// (pytorch 195760, 196666).
enum class CommStreams : std::uint8_t {
  kAsReached,  ///< no lines: a message moves when both ranks have come to it in their rows
  kMessage,    ///< each message has a line of its own
  kEdge,       ///< a rank has two lines for each rank that it exchanges messages with, to and from
  kPeer,       ///< a rank has a line for each rank that it exchanges messages with
  kDirection,  ///< a rank has a line for activations and one for gradients
  kRank,       ///< a rank has one line
};

/// How lines are called in options and JSON, and in titles. kAsReached has no name.
struct CommStreamsRow {
  CommStreams of;
  std::string_view name;
  std::string_view text;
};

inline constexpr std::array<CommStreamsRow, 5> kCommStreams = {{
    {CommStreams::kMessage, "message", "a line for each message"},
    {CommStreams::kEdge, "edge", "a line of messages from each rank to each other"},
    {CommStreams::kPeer, "peer", "a line of messages for each pair of ranks"},
    {CommStreams::kDirection, "direction",
     "a line of activations and a line of gradients for each rank"},
    {CommStreams::kRank, "rank", "a line of messages for each rank"},
}};

/// Not for kAsReached.
constexpr const CommStreamsRow& rowOf(CommStreams lines) {
  return kCommStreams[static_cast<std::size_t>(lines) - 1];
}

static_assert(
    [] {
      for (std::size_t i = 0; i < kCommStreams.size(); ++i) {
        if (&rowOf(kCommStreams[i].of) != &kCommStreams[i]) return false;
      }
      return true;
    }(),
    "a row stands elsewhere");

/// One end of a message, on a rank.
struct MessageEnd {
  int peer = 0;  ///< the rank of the other end
  bool sends = false;
  bool forward = false;  ///< activations
};

/// The line of an end among those of its rank: ends with the same number are on one line. From 0 to
/// linesOfRank() - 1. Not for kAsReached and kMessage.
constexpr int lineOf(CommStreams lines, const MessageEnd& end) {
  switch (lines) {
    case CommStreams::kEdge: return 2 * end.peer + (end.sends ? 0 : 1);
    case CommStreams::kPeer: return end.peer;
    case CommStreams::kDirection: return end.forward ? 0 : 1;
    default: return 0;
  }
}

/// How many lines a rank may have in a run of `ranks` ranks; 0 where no messages share a line.
constexpr int linesOfRank(CommStreams lines, int ranks) {
  switch (lines) {
    case CommStreams::kEdge: return 2 * ranks;
    case CommStreams::kPeer: return ranks;
    case CommStreams::kDirection: return 2;
    case CommStreams::kRank: return 1;
    default: return 0;
  }
}

/// The lane of an end's line in logs and profiles. Not for kAsReached and kMessage.
inline std::string laneOf(CommStreams lines, const MessageEnd& end) {
  const std::string lane(kLineLane);
  switch (lines) {
    case CommStreams::kEdge:
      return lane + (end.sends ? "_to_" : "_from_") + std::to_string(end.peer);
    case CommStreams::kPeer: return lane + "_" + std::to_string(end.peer);
    case CommStreams::kDirection: return lane + (end.forward ? "_forward" : "_backward");
    default: return lane;
  }
}

/// Adds the lane to RankInfo::lines, where its messages alone do not show that it is a line: one of
/// sends alone looks like the sends of all lines.
inline void addLineName(CommStreams lines, const std::string& lane, std::string& names) {
  if (lines != CommStreams::kEdge && lines != CommStreams::kDirection) return;
  names += (names.empty() ? "" : ";") + lane;
}

}  // namespace pipetrace
