#include "parser/ring/log_rings.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "parser/ring/ring_contents.h"
#include "trace/error.h"
#include "trace/log/ring_format.h"

namespace pipetrace {
namespace {

namespace rf = ring_format;

/// Calls `action(n, at)` for `count` structs of `size` bytes from `offset` on, as far as they lie
/// in a file of `fileSize` bytes.
template <typename Action>
void forEach(std::uint64_t offset, std::uint64_t count, std::size_t size, std::size_t fileSize,
             const Action& action) {
  if (offset > fileSize) return;
  const std::uint64_t there = std::min<std::uint64_t>(count, (fileSize - offset) / size);
  for (std::uint64_t n = 0; n < there; ++n) action(n, offset + n * size);
}

/// One field of a struct in `bytes`, which hold all of it.
template <typename T>
T fieldAt(std::string_view bytes, std::uint64_t at) {
  T field;
  std::memcpy(&field, bytes.data() + at, sizeof(T));
  return field;
}

template <typename T>
void setField(std::string& bytes, std::uint64_t at, const T& field) {
  std::memcpy(bytes.data() + at, &field, sizeof(T));
}

/// Where the parts of a lane are.
struct LanePlaces {
  std::uint64_t header = 0;
  std::uint64_t slots = 0;
  std::uint64_t times = 0;
};

template <typename Action>
void forEachLane(const rf::FileHeader& header, std::size_t fileSize, const Action& action) {
  for (const std::uint64_t offset : header.laneOffset) {
    if (offset == 0 || offset > fileSize || fileSize - offset < sizeof(rf::LaneHeader)) continue;
    const std::uint64_t slots = offset + sizeof(rf::LaneHeader);
    action(LanePlaces{offset, slots, slots + header.slots * sizeof(rf::Slot)});
  }
}

std::string readAll(const ByteSource& source, std::size_t size) {
  std::string bytes(size, '\0');
  bytes.resize(source.readAt(0, bytes.data(), size));
  return bytes;
}

/// The header as it is now, its anchors those of its count.
bool readHeader(const ByteSource& source, rf::FileHeader& header) {
  constexpr int kTries = 100;  // anchors come a millisecond apart
  auto* const bytes = reinterpret_cast<char*>(&header);
  for (int i = 0; i < kTries; ++i) {
    std::uint64_t count = 0;
    if (source.readAt(0, bytes, sizeof(header)) != sizeof(header)) return false;
    source.readAt(offsetof(rf::FileHeader, anchorCount), reinterpret_cast<char*>(&count),
                  sizeof(count));
    if (count == header.anchorCount) break;
  }
  return true;
}

/// Restores the fields that are written last, as they were before `bytes` were read. Where they say
/// that a struct is whole, it is whole in `bytes`.
void takeOver(std::string& bytes, std::string_view earlier, const rf::FileHeader& header) {
  const std::size_t size = bytes.size();
  const auto keep = [&](std::uint64_t at, std::size_t length) {
    std::memcpy(bytes.data() + at, earlier.data() + at, length);
  };
  forEach(rf::kTextsAt, rf::kTexts, sizeof(rf::Text), size, [&](std::uint64_t, std::uint64_t at) {
    keep(at + offsetof(rf::Text, address), sizeof(rf::Text::address));
  });
  forEach(rf::kCountersAt, rf::kCounters, sizeof(rf::CounterSlot), size,
          [&](std::uint64_t, std::uint64_t at) {
            keep(at + offsetof(rf::CounterSlot, turn), sizeof(rf::CounterSlot::turn));
          });
  forEachLane(header, size, [&](const LanePlaces& lane) {
    keep(lane.header + offsetof(rf::LaneHeader, begun), sizeof(rf::LaneHeader::begun));
    forEach(lane.slots, header.slots, sizeof(rf::Slot), size, [&](std::uint64_t, std::uint64_t at) {
      keep(at + offsetof(rf::Slot, sequence), sizeof(rf::Slot::sequence));
    });
    forEach(lane.times, header.slots, sizeof(rf::Times), size,
            [&](std::uint64_t, std::uint64_t at) {
              keep(at + offsetof(rf::Times, sequence), sizeof(rf::Times::sequence));
            });
  });
}

/// Removes structs that have been given back by now: they may have been overwritten in `bytes`.
void leaveOutGivenBack(std::string& bytes, const ByteSource& source, const rf::FileHeader& header) {
  const auto update = [&](std::uint64_t at) {
    source.readAt(at, bytes.data() + at, sizeof(std::uint64_t));
  };
  update(offsetof(rf::FileHeader, countersFreed));
  forEachLane(header, bytes.size(), [&](const LanePlaces& lane) {
    update(lane.header + offsetof(rf::LaneHeader, freed));
  });
}

/// Calls `action(n, times)`, with the place of its times, for each job of a lane that has ended and
/// has no times.
template <typename Action>
void forEachUntimed(std::string_view bytes, const rf::FileHeader& header, const LanePlaces& lane,
                    const Action& action) {
  const bool isWhole =
      lane.times <= bytes.size() && (bytes.size() - lane.times) / sizeof(rf::Times) >= header.slots;
  if (!isWhole) return;
  const auto freed = fieldAt<std::uint64_t>(bytes, lane.header + offsetof(rf::LaneHeader, freed));
  for (std::uint64_t n = freed; n < freed + header.slots; ++n) {
    const std::uint64_t index = n & (header.slots - 1);
    const std::uint64_t slot = lane.slots + index * sizeof(rf::Slot);
    const std::uint64_t times = lane.times + index * sizeof(rf::Times);
    const auto sequence = static_cast<std::uint32_t>(n + 1);
    if (fieldAt<std::uint32_t>(bytes, slot + offsetof(rf::Slot, sequence)) == sequence &&
        fieldAt<std::uint32_t>(bytes, times + offsetof(rf::Times, sequence)) != sequence) {
      action(n, times);
    }
  }
}

/// RingSnapshot::settle() for one lane; `now` is its present contents.
bool settleLane(std::string& bytes, std::string_view now, const rf::FileHeader& header,
                const LanePlaces& lane) {
  const std::uint64_t freedAt = lane.header + offsetof(rf::LaneHeader, freed);
  const auto freed = fieldAt<std::uint64_t>(now, freedAt);
  bool left = false;
  forEachUntimed(bytes, header, lane, [&](std::uint64_t n, std::uint64_t times) {
    if (n < freed) {
      left = true;
    } else {
      setField(bytes, times, fieldAt<rf::Times>(now, times));
    }
  });
  if (left) setField(bytes, freedAt, freed);
  return left;
}

}  // namespace

RingSnapshot::RingSnapshot(ByteSource& source)
    : source_(source), isPlain_(source.plainSize().has_value()) {
  if (isPlain_) {
    bytes_ = take();
    return;
  }
  std::string part(std::size_t{1} << 16, '\0');
  while (const std::size_t n = source.read(part.data(), part.size())) bytes_.append(part, 0, n);
}

std::string RingSnapshot::take() {
  const std::size_t size = source_.plainSize().value_or(0);
  rf::FileHeader header{};
  std::string whyNot;
  std::string earlier = readAll(source_, size);
  std::string bytes = readAll(source_, earlier.size());
  if (bytes.size() < earlier.size() || !readRingHeader(earlier, header, whyNot) ||
      !readHeader(source_, header)) {
    return earlier;
  }
  takeOver(bytes, earlier, header);
  setField(bytes, 0, header);
  leaveOutGivenBack(bytes, source_, header);
  return bytes;
}

bool RingSnapshot::settle() {
  rf::FileHeader header{};
  std::string whyNot;
  if (!isPlain_ || !readRingHeader(bytes_, header, whyNot)) return false;
  bool hasUntimed = false;
  forEachLane(header, bytes_.size(), [&](const LanePlaces& lane) {
    forEachUntimed(bytes_, header, lane, [&](auto...) { hasUntimed = true; });
  });
  if (!hasUntimed) return false;
  const std::string now = take();
  rf::FileHeader newer{};
  if (now.size() < bytes_.size() || !readRingHeader(now, newer, whyNot)) return false;
  bool left = false;
  forEachLane(header, bytes_.size(), [&](const LanePlaces& lane) {
    left = settleLane(bytes_, now, header, lane) || left;
  });
  // Texts are noted, and clocks compared, when the times are asked for.
  if (bytes_.size() >= rf::kCountersAt) {
    bytes_.replace(rf::kTextsAt, rf::kCountersAt - rf::kTextsAt, now, rf::kTextsAt,
                   rf::kCountersAt - rf::kTextsAt);
  }
  header.anchorCount = newer.anchorCount;
  header.anchors = newer.anchors;
  setField(bytes_, 0, header);
  return left;
}

namespace fs = std::filesystem;

LogRings::LogRings(const std::string& logPath) : folder_(fs::path(logPath).parent_path()) {}

std::string LogRings::pathOf(const std::string& name) const {
  return (fs::path(folder_) / name).string();
}

void LogRings::take(const std::string& name) {
  const std::string path = pathOf(name);
  std::error_code error;
  if (name.empty() || name.find('/') != std::string::npos || rings_.contains(name) ||
      !fs::is_regular_file(path, error)) {
    return;
  }
  try {
    rings_.emplace(name, std::make_unique<Ring>(path));
  } catch (const Error&) {
    if (!fs::exists(path, error)) return;  // the log has just been closed
    throw;
  }
}

bool LogRings::settle() {
  bool left = false;
  for (const auto& [name, ring] : rings_) left = ring->snapshot.settle() || left;
  return left;
}

const RingSnapshot* LogRings::find(const std::string& name) const {
  const auto found = rings_.find(name);
  return found == rings_.end() ? nullptr : &found->second->snapshot;
}

}  // namespace pipetrace
