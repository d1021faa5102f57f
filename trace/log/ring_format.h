#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "trace/log/clock_anchors.h"
#include "trace/log/job_details.h"
#include "trace/phase.h"

/// The ring file holds the records that a recorder has not written to its job log yet. It is mapped
/// into memory, so it outlives the process (docs/log-format.md). Each run of a rank has one beside
/// its log, which names it (`Profiler Meta: … ring = …`). A clean close removes it.
///
///     FileHeader, kTexts Text, kCounters CounterSlot        at 0
///     one lane after the other: LaneHeader, slots Slot, slots Times   at laneOffset[i]
///
/// All numbers are in the byte order of the host. Fields that two threads share are written and
/// read through std::atomic_ref. A reader of a dead process's file needs no atomic access.
namespace pipetrace::ring_format {

inline constexpr std::array<char, 8> kMagic = {'P', 'T', 'r', 'i', 'n', 'g', '\r', '\n'};
/// Files of version 1 have the same layout. Their jobs have `bytes` on every lane, and no details.
/// Files before version 3 know no kind kCheckpoint: the numbers of those after it are one lower.
inline constexpr std::uint32_t kVersion = std::max<std::uint32_t>(3, newestJobDetail());
inline constexpr std::uint32_t kOldestVersion = 1;  ///< that is read
inline constexpr std::string_view kFileSuffix = ".ring";

inline constexpr std::size_t kMaxLanes = 64;
inline constexpr std::size_t kAnchors = 64;     ///< a power of two
inline constexpr std::size_t kTexts = 2048;     ///< a power of two
inline constexpr std::size_t kCounters = 4096;  ///< a power of two
inline constexpr std::size_t kMetaSize = 2032;
inline constexpr std::size_t kTextSize = 56;

/// At the start of the file. `magic` is written last: without it the file was never finished.
struct FileHeader {
  std::array<char, 8> magic;
  std::uint32_t version;
  std::uint32_t headerSize;      ///< of this struct
  std::uint32_t textSize;        ///< of Text
  std::uint32_t texts;           ///< how many
  std::uint32_t counterSize;     ///< of CounterSlot
  std::uint32_t counters;        ///< how many
  std::uint32_t laneHeaderSize;  ///< of LaneHeader
  std::uint32_t slotSize;        ///< of Slot
  std::uint32_t timesSize;       ///< of Times
  std::uint32_t slots;           ///< of each lane, a power of two
  std::int64_t pid;
  std::int64_t wallOffset;  ///< ns since the epoch = CLOCK_MONOTONIC + this
  /// The run's `Profiler Meta:` line after its mark, ended by NUL.
  std::array<char, kMetaSize> meta;
  /// The number of streams for whose lane the file had no room: their records are lost with the
  /// process. 0 in older files, whose `meta` took up this place.
  std::uint64_t lanesNotKept;
  /// The number of records that left the ring and are not in the log. Their lines could not be
  /// written (disk full), or their times never became known. 0 in the oldest files, whose `meta`
  /// took up this place.
  std::uint64_t linesLost;
  std::uint64_t countersFreed;  ///< samples that are in the log, or lost
  std::uint64_t countersDropped;
  std::uint64_t anchorCount;  ///< since the start; the last kAnchors of them are in `anchors`
  std::array<ClockAnchor, kAnchors> anchors;  ///< anchor n at n % kAnchors
  /// Where the lane's header is; 0: no such lane, or not in this file.
  std::array<std::uint64_t, kMaxLanes> laneOffset;
};

/// The text at an address of the process, in a hash table with open addressing: the place of an
/// address is textPlace(), or the next one that is free.
struct Text {
  std::uint64_t address;             ///< 0: free. Written last
  std::array<char, kTextSize> text;  ///< cut off if longer; ended by NUL
};

constexpr std::size_t textPlace(std::uint64_t address) {
  return static_cast<std::size_t>(address * 0x9E3779B97F4A7C15ull >> 32) & (kTexts - 1);
}

/// One sample of a counter: sample n is in slot n % counters.
struct CounterSlot {
  std::uint64_t turn;  ///< n: free for sample n; n + 1: sample n is in. Written last
  std::uint64_t name;  ///< address of its text
  std::uint64_t unit;  ///< address of its text, or 0
  std::int64_t monotonic;
  double value;
};

/// A stream. Job n is in slot n % slots.
struct LaneHeader {
  std::array<char, 128> name;    ///< cut off if longer; ended by NUL
  std::uint32_t isCompute;       ///< its jobs are `Profiler Info:` lines
  std::uint32_t marksTicks;      ///< marks are ticks as in `anchors`; else CLOCK_MONOTONIC, ns
  std::uint32_t isAsynchronous;  ///< marks say when a job was queued, not when it ran
  std::uint32_t reserved;
  std::array<std::uint64_t, 14> unused0;  // the recording thread's cache line
  std::uint64_t begun;                    ///< jobs that got a slot; the last may be open
  std::uint64_t dropped;                  ///< jobs that did not
  std::array<std::uint64_t, 14> unused1;  // the log thread's
  std::uint64_t freed;                    ///< jobs that are in the log, or lost
  std::array<std::uint64_t, 15> unused2;
};

/// One job. Its fields are valid when `sequence` is that of the wanted job. Between begin and end
/// of job n it is not; all fields but `end` are valid then if `begun` is n + 1.
struct Slot {
  std::uint32_t sequence;  ///< n + 1, cut to 32 bits, for job n. Written last
  std::uint8_t kind;       ///< JobKind
  std::uint8_t phase;      ///< Phase; 0, training, in older files
  std::int16_t chunk;
  std::uint64_t begin;  ///< mark
  std::uint64_t end;    ///< mark; on an asynchronous lane it may be the start's mark plus one
  std::int64_t id;
  std::uint64_t action;         ///< address of its text, or 0
  std::int64_t bytesOrDetails;  ///< compute lane: packedDetails(); other lanes: bytes
  std::int32_t microBatch;
  std::int32_t step;
  std::int32_t stage;
  std::int32_t peer;
};

/// Training for a number that this version does not know.
constexpr Phase phaseOf(const Slot& slot) {
  return slot.phase < kPhaseCount ? static_cast<Phase>(slot.phase) : Phase::kTraining;
}

/// The times of the job in the slot of the same index, as far as the log thread knows them.
struct Times {
  std::int64_t begin;  ///< since the epoch, as in the log
  std::int64_t end;
  std::uint32_t sequence;  ///< as in Slot. Written last
  std::uint32_t reserved;
};

static_assert(sizeof(Slot) == 64, "one cache line a job");
static_assert(sizeof(Times) == 24);
static_assert(sizeof(LaneHeader) == 512 && offsetof(LaneHeader, begun) == 256 &&
                  offsetof(LaneHeader, freed) == 384,
              "each side writes its own cache lines");
static_assert(sizeof(Text) == 64);
static_assert(sizeof(FileHeader) == 3672 && sizeof(CounterSlot) == 40,
              "files of versions 1 and 2 are laid out so");

inline constexpr std::size_t kTextsAt = sizeof(FileHeader);
inline constexpr std::size_t kCountersAt = kTextsAt + kTexts * sizeof(Text);
inline constexpr std::size_t kFrontSize = kCountersAt + kCounters * sizeof(CounterSlot);

constexpr std::size_t laneSize(std::size_t slots) {
  return sizeof(LaneHeader) + slots * (sizeof(Slot) + sizeof(Times));
}

/// Fills in the layout of a file of this version, all of `header` but its magic. `slots`: the
/// number of slots of each lane, a power of two.
constexpr void describeLayout(FileHeader& header, std::uint32_t slots) {
  header.version = kVersion;
  header.headerSize = sizeof(FileHeader);
  header.textSize = sizeof(Text);
  header.texts = kTexts;
  header.counterSize = sizeof(CounterSlot);
  header.counters = kCounters;
  header.laneHeaderSize = sizeof(LaneHeader);
  header.slotSize = sizeof(Slot);
  header.timesSize = sizeof(Times);
  header.slots = slots;
}

}  // namespace pipetrace::ring_format
