#include "parser/ring/ring_contents.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <span>

#include "trace/log/clock_anchors.h"
#include "trace/log/ring_format.h"
#include "trace/text/log_numbers.h"
#include "trace/track.h"

namespace pipetrace {
namespace {

namespace rf = ring_format;

/// The bytes of the file, as the structs that lie in them.
class RingBytes {
 public:
  explicit RingBytes(std::string_view bytes) : bytes_(bytes) {}

  template <typename T>
  bool read(std::uint64_t offset, T& out) const {
    if (offset > bytes_.size() || bytes_.size() - offset < sizeof(T)) return false;
    std::memcpy(&out, bytes_.data() + offset, sizeof(T));
    return true;
  }
  /// The text of at most `size` bytes up to its NUL.
  std::string_view text(std::uint64_t offset, std::size_t size) const {
    const std::string_view all = bytes_.substr(std::min<std::size_t>(offset, bytes_.size()), size);
    return all.substr(0, std::min(all.find('\0'), all.size()));
  }
  std::size_t size() const { return bytes_.size(); }

 private:
  std::string_view bytes_;
};

class RingReader {
 public:
  RingReader(RingBytes bytes, const rf::FileHeader& header, RingContents& contents)
      : bytes_(bytes), header_(header), contents_(contents) {
    const std::uint64_t count = std::min<std::uint64_t>(header.anchorCount, rf::kAnchors - 1);
    for (std::uint64_t n = header.anchorCount - count; n < header.anchorCount; ++n) {
      const ClockAnchor& anchor = header.anchors[n % rf::kAnchors];
      const bool ascends = anchors_.empty() || (anchor.ticks > anchors_.back().ticks &&
                                                anchor.monotonic >= anchors_.back().monotonic);
      if (anchor.monotonic >= 0 && ascends) anchors_.push_back(anchor);
    }
  }

  void readAll() {
    contents_.process = header_.pid;
    addDropped(header_.linesLost);
    // An old file with a long Meta line has its text there.
    const std::uint64_t notKept = header_.lanesNotKept;
    contents_.lanesNotKept = notKept <= rf::kMaxLanes ? static_cast<std::int64_t>(notKept) : 0;
    contents_.meta = bytes_.text(offsetof(rf::FileHeader, meta), rf::kMetaSize);
    for (const std::uint64_t offset : header_.laneOffset) {
      rf::LaneHeader lane{};
      if (offset != 0 && bytes_.read(offset, lane)) readLane(offset, lane);
    }
    readSamples();
    std::stable_sort(contents_.jobs.begin(), contents_.jobs.end(),
                     [](const RingContents::Job& a, const RingContents::Job& b) {
                       return a.line.begin < b.line.begin;
                     });
  }

 private:
  std::string_view textAt(std::uint64_t address) const {
    if (address == 0) return {};
    for (std::size_t i = 0; i < rf::kTexts; ++i) {
      const std::size_t place = (rf::textPlace(address) + i) % rf::kTexts;
      const std::uint64_t at = rf::kTextsAt + place * sizeof(rf::Text);
      std::uint64_t found = 0;
      if (!bytes_.read(at, found) || found == 0) return {};
      if (found == address) return bytes_.text(at + offsetof(rf::Text, text), rf::kTextSize);
    }
    return {};
  }

  std::optional<Nanoseconds> timeOf(const rf::LaneHeader& lane, std::uint64_t mark) const {
    Nanoseconds monotonic = static_cast<Nanoseconds>(mark);
    if (lane.marksTicks != 0) {
      if (anchors_.size() < 2) return std::nullopt;
      monotonic = monotonicAt(anchors_, mark);
    }
    Nanoseconds time = 0;
    if (__builtin_add_overflow(monotonic, header_.wallOffset, &time)) return std::nullopt;
    return time;
  }

  JobKind kindOf(const rf::Slot& slot) const {
    const bool isAfterCheckpoint = slot.kind >= static_cast<int>(JobKind::kCheckpoint);
    return jobKindOfNumber(slot.kind + (header_.version < 3 && isAfterCheckpoint ? 1 : 0));
  }

  StreamLine lineOf(const rf::LaneHeader& lane, std::string_view name, const rf::Slot& slot) const {
    return {.type = logName(kindOf(slot)),
            .microBatch = slot.microBatch,
            .stream = name,
            .peer = slot.peer,
            .bytes = lane.isCompute != 0 ? kNotGiven : slot.bytesOrDetails,
            .job = slot.id,
            .step = slot.step,
            .stage = slot.stage,
            .chunk = slot.chunk,
            .phase = rf::phaseOf(slot)};
  }

  void addDropped(std::uint64_t count) {
    constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
    contents_.dropped =
        addCounts(contents_.dropped, static_cast<std::int64_t>(std::min(count, kMost)));
  }

  void readLane(std::uint64_t offset, const rf::LaneHeader& lane) {
    const std::string_view name = bytes_.text(offset, lane.name.size());
    const std::uint64_t slotsAt = offset + sizeof(rf::LaneHeader);
    const std::uint64_t timesAt = slotsAt + header_.slots * sizeof(rf::Slot);
    contents_.lanes.push_back({name, lane.isCompute != 0});
    addDropped(lane.dropped);
    for (std::uint64_t n = lane.freed; n < lane.freed + header_.slots; ++n) {
      const std::uint64_t index = n & (header_.slots - 1);
      rf::Slot slot{};
      rf::Times times{};
      if (!bytes_.read(slotsAt + index * sizeof(slot), slot) ||
          !bytes_.read(timesAt + index * sizeof(times), times)) {
        return;
      }
      const auto sequence = static_cast<std::uint32_t>(n + 1);
      if (slot.sequence == sequence) {
        addJob(lane, name, slot, times.sequence == sequence ? &times : nullptr);
      } else if (n + 1 == lane.begun) {
        addOpen(lane, name, slot);
      }  // otherwise it is empty, or the end of a job was just being written
    }
  }

  void addJob(const rf::LaneHeader& lane, std::string_view name, const rf::Slot& slot,
              const rf::Times* times) {
    RingContents::Job job{.isCompute = lane.isCompute != 0,
                          .isInLogPossibly = times != nullptr,
                          .line = lineOf(lane, name, slot),
                          .action = textAt(slot.action)};
    if (job.isCompute) job.details = unpackedDetails(slot.bytesOrDetails, header_.version);
    if (times != nullptr && times->begin != kNsMin && times->end != kNsMin) {
      job.line.begin = times->begin;
      job.line.end = times->end;
    } else {
      const auto begin = timeOf(lane, slot.begin);
      const auto end = timeOf(lane, slot.end);
      if (!begin || !end) return;
      job.line.begin = *begin;
      job.line.end = std::max(*begin, *end);
      job.isUntimed = lane.isAsynchronous != 0;
    }
    contents_.jobs.push_back(job);
  }

  void addOpen(const rf::LaneHeader& lane, std::string_view name, const rf::Slot& slot) {
    RingContents::OpenJob open{.isCompute = lane.isCompute != 0,
                               .line = lineOf(lane, name, slot),
                               .action = textAt(slot.action)};
    const auto begin = timeOf(lane, slot.begin);
    if (!begin) return;
    open.line.begin = *begin;
    contents_.open.push_back(open);
  }

  void readSamples() {
    addDropped(header_.countersDropped);
    const std::uint64_t from = header_.countersFreed;
    for (std::uint64_t n = from; n < from + rf::kCounters; ++n) {
      const std::uint64_t at = rf::kCountersAt + (n % rf::kCounters) * sizeof(rf::CounterSlot);
      rf::CounterSlot slot{};
      if (!bytes_.read(at, slot)) return;
      const std::string_view name = textAt(slot.name);
      Nanoseconds time = 0;
      if (slot.turn != n + 1 || name.empty() ||
          __builtin_add_overflow(slot.monotonic, header_.wallOffset, &time)) {
        continue;
      }
      contents_.samples.push_back(
          {.name = name, .time = time, .value = slot.value, .unit = textAt(slot.unit)});
    }
  }

  const RingBytes bytes_;
  const rf::FileHeader& header_;
  RingContents& contents_;
  std::vector<ClockAnchor> anchors_;
};

}  // namespace

bool RingContents::keeps(std::string_view lane) const {
  constexpr std::size_t kLongest = sizeof(rf::LaneHeader::name) - 1;
  return std::any_of(lanes.begin(), lanes.end(), [&](const Lane& each) {
    return each.isCompute ? lane == kComputeLane : each.name == lane.substr(0, kLongest);
  });
}

bool isRing(std::string_view head) {
  return head.starts_with(std::string_view(rf::kMagic.data(), rf::kMagic.size()));
}

bool readRingHeader(std::string_view bytes, rf::FileHeader& header, std::string& whyNot) {
  if (!isRing(bytes) || !RingBytes(bytes).read(0, header)) {
    whyNot = "it was never finished";
    return false;
  }
  const bool isOurs =
      header.version >= rf::kOldestVersion && header.version <= rf::kVersion &&
      header.headerSize == sizeof(rf::FileHeader) && header.textSize == sizeof(rf::Text) &&
      header.texts == rf::kTexts && header.counterSize == sizeof(rf::CounterSlot) &&
      header.counters == rf::kCounters && header.laneHeaderSize == sizeof(rf::LaneHeader) &&
      header.slotSize == sizeof(rf::Slot) && header.timesSize == sizeof(rf::Times) &&
      std::has_single_bit(header.slots);
  if (!isOurs) whyNot = "its layout is not the one of this version";
  return isOurs;
}

std::optional<RingContents> readRing(std::string_view bytes, std::string& whyNot) {
  rf::FileHeader header{};
  if (!readRingHeader(bytes, header, whyNot)) return std::nullopt;
  RingContents contents;
  RingReader(RingBytes(bytes), header, contents).readAll();
  return contents;
}

}  // namespace pipetrace
