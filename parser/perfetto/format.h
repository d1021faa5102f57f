#pragma once

#include <cstdint>
#include <string_view>

/// The fields of Perfetto's protobuf trace (protos/perfetto/trace in its sources) that our writer
/// and reader share, by message, and our own words.
namespace pipetrace::perfetto_format {

/// Trace.packet
inline constexpr std::uint32_t kPacket = 1;

namespace packet {
inline constexpr std::uint32_t kChromeEvents = 5;
inline constexpr std::uint32_t kClockSnapshot = 6;
inline constexpr std::uint32_t kTimestamp = 8;
inline constexpr std::uint32_t kSequence = 10;
inline constexpr std::uint32_t kTrackEvent = 11;
inline constexpr std::uint32_t kInternedData = 12;
inline constexpr std::uint32_t kSequenceFlags = 13;
inline constexpr std::uint32_t kStateCleared = 41;
inline constexpr std::uint32_t kPreviousDropped = 42;
inline constexpr std::uint32_t kCompressedPackets = 50;
inline constexpr std::uint32_t kTimestampClock = 58;
inline constexpr std::uint32_t kDefaults = 59;
inline constexpr std::uint32_t kTrackDescriptor = 60;
inline constexpr std::uint32_t kFirstOnSequence = 87;
}  // namespace packet

/// TracePacket.sequence_flags
inline constexpr std::uint64_t kIncrementalStateCleared = 1;
inline constexpr std::uint64_t kNeedsIncrementalState = 2;

namespace defaults {
inline constexpr std::uint32_t kTrackEvent = 11;      ///< TracePacketDefaults
inline constexpr std::uint32_t kTrack = 11;           ///< TrackEventDefaults
inline constexpr std::uint32_t kTimestampClock = 58;  ///< TracePacketDefaults
}  // namespace defaults

namespace track {
inline constexpr std::uint32_t kUuid = 1;
inline constexpr std::uint32_t kName = 2;
inline constexpr std::uint32_t kProcess = 3;
inline constexpr std::uint32_t kThread = 4;
inline constexpr std::uint32_t kParent = 5;
inline constexpr std::uint32_t kCounter = 8;
inline constexpr std::uint32_t kStaticName = 10;
inline constexpr std::uint32_t kChildOrdering = 11;
inline constexpr std::uint32_t kOrderRank = 12;
inline constexpr std::uint32_t kMerging = 15;
inline constexpr std::uint64_t kExplicitOrder = 3;
inline constexpr std::uint64_t kNeverMerged = 2;
}  // namespace track

namespace process {
inline constexpr std::uint32_t kPid = 1;
inline constexpr std::uint32_t kName = 6;
}  // namespace process

namespace thread {
inline constexpr std::uint32_t kPid = 1;
inline constexpr std::uint32_t kTid = 2;
inline constexpr std::uint32_t kName = 5;
}  // namespace thread

namespace counter {
inline constexpr std::uint32_t kUnit = 3;
inline constexpr std::uint32_t kMultiplier = 4;
inline constexpr std::uint32_t kIncremental = 5;
inline constexpr std::uint32_t kUnitName = 6;
inline constexpr std::uint64_t kNoUnit = 0;
inline constexpr std::uint64_t kBytes = 3;
}  // namespace counter

namespace event {
inline constexpr std::uint32_t kTimeDelta = 1;
inline constexpr std::uint32_t kCategoryIid = 3;
inline constexpr std::uint32_t kAnnotation = 4;
inline constexpr std::uint32_t kType = 9;
inline constexpr std::uint32_t kNameIid = 10;
inline constexpr std::uint32_t kTrack = 11;
inline constexpr std::uint32_t kTimeAbsolute = 16;
inline constexpr std::uint32_t kCategory = 22;
inline constexpr std::uint32_t kName = 23;
inline constexpr std::uint32_t kCounterValue = 30;
inline constexpr std::uint32_t kExtraCounterValue = 12;
inline constexpr std::uint32_t kDoubleCounterValue = 44;
inline constexpr std::uint32_t kFlow = 47;
inline constexpr std::uint32_t kEndOfFlow = 48;
inline constexpr std::uint64_t kBegin = 1;
inline constexpr std::uint64_t kEnd = 2;
inline constexpr std::uint64_t kInstant = 3;
inline constexpr std::uint64_t kCounter = 4;
}  // namespace event

namespace annotation {
inline constexpr std::uint32_t kNameIid = 1;
inline constexpr std::uint32_t kBool = 2;
inline constexpr std::uint32_t kUnsigned = 3;
inline constexpr std::uint32_t kInteger = 4;
inline constexpr std::uint32_t kReal = 5;
inline constexpr std::uint32_t kText = 6;
inline constexpr std::uint32_t kPointer = 7;
inline constexpr std::uint32_t kJson = 9;
inline constexpr std::uint32_t kName = 10;
inline constexpr std::uint32_t kTextIid = 17;
}  // namespace annotation

namespace interned {
inline constexpr std::uint32_t kCategories = 1;
inline constexpr std::uint32_t kEventNames = 2;
inline constexpr std::uint32_t kAnnotationNames = 3;
inline constexpr std::uint32_t kTexts = 29;
inline constexpr std::uint32_t kIid = 1;   ///< of each entry
inline constexpr std::uint32_t kText = 2;  ///< of each entry
}  // namespace interned

/// Names and texts that every trace carries in its own table of metadata.
namespace metadata {
inline constexpr std::uint32_t kEntry = 2;  ///< ChromeEventBundle.metadata
inline constexpr std::uint32_t kName = 1;
inline constexpr std::uint32_t kText = 2;
/// The same object as in Chrome JSON (docs/profile-format.md).
inline constexpr std::string_view kOurs = "pipetrace";
/// JSON: [[track, rank, lane], ...], one for each track with events.
inline constexpr std::string_view kLanes = "pipetrace_lanes";
}  // namespace metadata

}  // namespace pipetrace::perfetto_format
