#pragma once

#include <cstdint>

namespace pipetrace {

/// Which messages of a full plan wait for each other, and whether they wait for their place among
/// the jobs of their rank's row.
///
/// On GPUs the host runs far ahead of the device, so that place plays no part. Messages run on
/// streams of their own: a line. The messages of a line run one after the other, in the order in
/// which the rank has them. A message begins when its data is there and it is its turn on the lines
/// of both its ends. It holds them until it has arrived.
///
/// Source: NCCL runs what is given to one communicator one after the other, and
/// torch.distributed.pipelining gives all messages of a rank to one.
enum class CommStreams : std::uint8_t {
  kAsReached,  ///< no lines: a message moves when both ranks have come to it in their rows
  kMessage,    ///< each message has a line of its own
  kPeer,       ///< a rank has a line for each rank that it exchanges messages with
  kRank,       ///< a rank has one line
};

}  // namespace pipetrace
