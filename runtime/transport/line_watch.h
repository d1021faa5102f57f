#pragma once

#include <cstdint>

namespace pipetrace {

/// Sees when the device moves messages in line (RankDevice::line()). It is called on the compute
/// thread, inside of the send or the post of the message, with the stream of the line current.
class LineWatch {
 public:
  virtual ~LineWatch() = default;

  /// Work that is queued on the stream from now on runs when it is the message's turn, and what it
  /// sends is made.
  virtual void begins() = 0;
  /// The same when it has been moved.
  virtual void ended(std::int64_t bytes) = 0;
};

}  // namespace pipetrace
