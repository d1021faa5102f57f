#include "parser/perfetto/clocks.h"

#include <algorithm>
#include <vector>

#include "parser/perfetto/wire.h"

namespace pipetrace {
namespace {

// Numbers of fields, and of clocks, in protos/perfetto/trace/clock_snapshot.proto.
constexpr std::uint32_t kClocks = 1;
constexpr std::uint32_t kPrimaryClock = 2;
constexpr std::uint32_t kId = 1;
constexpr std::uint32_t kTimestamp = 2;
constexpr std::uint32_t kIsIncremental = 3;
constexpr std::uint32_t kMultiplier = 4;
constexpr std::uint64_t kFirstOfSequence = 64;
constexpr std::uint64_t kLastOfSequence = 127;

struct Reading {
  std::uint64_t id = 0;
  std::uint64_t timestamp = 0;
  bool isIncremental = false;
  std::uint64_t multiplier = 1;
};

Reading readingFrom(std::string_view message) {
  Reading reading;
  WireFields fields(message);
  for (WireField field; fields.next(field);) {
    if (field.isVarint(kId)) reading.id = field.value;
    if (field.isVarint(kTimestamp)) reading.timestamp = field.value;
    if (field.isVarint(kIsIncremental)) reading.isIncremental = field.value != 0;
    if (field.isVarint(kMultiplier)) reading.multiplier = std::max<std::uint64_t>(field.value, 1);
  }
  return reading;
}

std::optional<Nanoseconds> toNanoseconds(std::uint64_t units, std::uint64_t multiplier) {
  Nanoseconds time = 0;
  if (__builtin_mul_overflow(units, multiplier, &time)) return std::nullopt;
  return time;
}

}  // namespace

PerfettoClocks::Clock& PerfettoClocks::clock(std::uint32_t sequence, std::uint64_t id) {
  const bool isOfSequence = id >= kFirstOfSequence && id <= kLastOfSequence;
  return clocks_[isOfSequence ? (std::uint64_t{sequence} << 32) | id : id];
}

void PerfettoClocks::addSnapshot(std::uint32_t sequence, std::string_view snapshot) {
  std::vector<Reading> readings;
  WireFields fields(snapshot);
  for (WireField field; fields.next(field);) {
    if (field.isBytesOf(kClocks)) readings.push_back(readingFrom(field.bytes));
    if (field.isVarint(kPrimaryClock)) traceClock_ = field.value;
  }
  // The trace's time at the snapshot: that of its own clock, or of a clock related to it.
  std::optional<Nanoseconds> now;
  for (const Reading& reading : readings) {
    const auto time = toNanoseconds(reading.timestamp, reading.multiplier);
    if (!time) continue;
    if (reading.id == traceClock_) {
      now = time;
      break;
    }
    const auto offset = clock(sequence, reading.id).offset;
    Nanoseconds shifted = 0;
    if (!now && offset && !__builtin_add_overflow(*time, *offset, &shifted)) now = shifted;
  }
  for (const Reading& reading : readings) {
    Clock& known = clock(sequence, reading.id);
    known.isIncremental = reading.isIncremental;
    known.multiplier = reading.multiplier;
    known.last = reading.timestamp;
    const auto time = toNanoseconds(reading.timestamp, reading.multiplier);
    std::int64_t offset = 0;
    if (now && time && !__builtin_sub_overflow(*now, *time, &offset)) known.offset = offset;
  }
}

std::optional<Nanoseconds> PerfettoClocks::toTrace(std::uint32_t sequence, std::uint64_t id,
                                                   std::uint64_t timestamp, bool& unrelated) {
  if (id == traceClock_) return toNanoseconds(timestamp, 1);
  Clock& from = clock(sequence, id);
  std::uint64_t units = timestamp;
  if (from.isIncremental) {
    if (__builtin_add_overflow(from.last, timestamp, &units)) return std::nullopt;
    from.last = units;
  }
  const auto time = toNanoseconds(units, from.multiplier);
  unrelated = !from.offset;
  Nanoseconds shifted = 0;
  if (!time || __builtin_add_overflow(*time, from.offset.value_or(0), &shifted)) {
    return std::nullopt;
  }
  return shifted;
}

}  // namespace pipetrace
