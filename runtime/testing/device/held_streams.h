#pragma once

#include <c10/core/Stream.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include "runtime/testing/device/test_device.h"

namespace pipetrace::test_device {

/// Keeps what streams have to do after a LaterEvent, in their order. A stream that has something
/// takes waits and events, but no work. Threads: any.
class HeldStreams {
 public:
  struct Item {
    LaterEvent awaited;           ///< empty: nothing but its turn
    std::function<void()> act{};  ///< under the lock of the device's state
  };
  /// A place in a stream.
  struct Place {
    c10::Stream stream;
    std::uint64_t number = 0;
  };

  /// Whether the stream has anything to do yet. Under the lock.
  bool holds(c10::Stream stream) const;
  /// Under the lock.
  Place add(c10::Stream stream, Item item);

  /// Waits on the host until the stream has done what stands up to there. Not under the lock.
  void await(const Place& place);
  void awaitAll(c10::Stream stream);
  void awaitAll(c10::DeviceIndex device);
  /// Does what can be done without a wait. Not under the lock.
  void advance(c10::Stream stream);
  /// Under the lock.
  void clear() { streams_.clear(); }

 private:
  struct Held {
    std::deque<std::pair<std::uint64_t, Item>> items;
    bool isActing = false;
  };
  using Key = std::pair<c10::DeviceIndex, c10::StreamId>;

  void run(c10::Stream stream, std::uint64_t through, bool waits);

  std::map<Key, Held> streams_;  // those that have something to do
  std::uint64_t added_ = 0;
};

}  // namespace pipetrace::test_device
