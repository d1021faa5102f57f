#include "runtime/testing/device/held_streams.h"

#include <limits>
#include <vector>

#include "runtime/testing/device/device_state.h"

namespace pipetrace::test_device {
namespace {

auto keyOf(c10::Stream stream) { return std::pair(stream.device_index(), stream.id()); }

}  // namespace

bool HeldStreams::holds(c10::Stream stream) const {
  const auto held = streams_.find(keyOf(stream));
  return held != streams_.end() && !held->second.isActing;
}

HeldStreams::Place HeldStreams::add(c10::Stream stream, Item item) {
  streams_[keyOf(stream)].items.emplace_back(++added_, std::move(item));
  return {stream, added_};
}

void HeldStreams::await(const Place& place) { run(place.stream, place.number, /*waits=*/true); }

void HeldStreams::awaitAll(c10::Stream stream) {
  run(stream, std::numeric_limits<std::uint64_t>::max(), /*waits=*/true);
}

void HeldStreams::awaitAll(c10::DeviceIndex device) {
  std::vector<c10::StreamId> streams;
  {
    const StateLock lock(deviceState().mutex);
    for (const auto& [key, held] : streams_) {
      if (key.first == device) streams.push_back(key.second);
    }
  }
  for (const c10::StreamId stream : streams) {
    awaitAll(c10::Stream(c10::Stream::UNSAFE, c10::Device(kType, device), stream));
  }
}

void HeldStreams::advance(c10::Stream stream) {
  run(stream, std::numeric_limits<std::uint64_t>::max(), /*waits=*/false);
}

void HeldStreams::run(c10::Stream stream, std::uint64_t through, bool waits) {
  while (true) {
    std::pair<std::uint64_t, LaterEvent> first;
    {
      const StateLock lock(deviceState().mutex);
      const auto held = streams_.find(keyOf(stream));
      if (held == streams_.end() || held->second.items.front().first > through) return;
      first = {held->second.items.front().first, held->second.items.front().second.awaited};
    }
    if (waits && first.second.await) first.second.await();
    if (!waits && first.second.isThere && !first.second.isThere()) return;
    const StateLock lock(deviceState().mutex);
    const auto held = streams_.find(keyOf(stream));
    // Another thread may have been here.
    if (held == streams_.end() || held->second.items.front().first != first.first) continue;
    const Item item = std::move(held->second.items.front().second);
    held->second.isActing = true;
    if (item.awaited.block) item.awaited.block(stream);
    if (item.act) item.act();
    held->second.isActing = false;
    held->second.items.pop_front();
    if (held->second.items.empty()) streams_.erase(held);
  }
}

}  // namespace pipetrace::test_device
