#pragma once

#include <string_view>

/// The words of our Chrome JSON (docs/profile-format.md) that its writer and its reader share.
namespace pipetrace::chrome_format {

inline constexpr int kVersion = 1;

// Fields of the file itself.
inline constexpr std::string_view kTraceEvents = "traceEvents";
inline constexpr std::string_view kOtherData = "otherData";
inline constexpr std::string_view kBaseTime = "baseTimeNanoseconds";  ///< as PyTorch calls it
inline constexpr std::string_view kOurs = "pipetrace";                ///< our object in otherData
inline constexpr std::string_view kFormat = "format";
inline constexpr std::string_view kOrigin = "origin_ns";
inline constexpr std::string_view kRanks = "ranks";
inline constexpr std::string_view kCounters = "counters";
inline constexpr std::string_view kClockReadings = "clock_readings";
inline constexpr std::string_view kTimeNs = "time_ns";
inline constexpr std::string_view kEnd = "end";
inline constexpr std::string_view kSelected = "selected";
inline constexpr std::string_view kNotFinite = "not_finite";

/// In the arguments of thread_name: the lane that a row is a sub-lane of.
inline constexpr std::string_view kLane = "lane";

// Arguments of an event.
inline constexpr std::string_view kJob = "job";
inline constexpr std::string_view kStep = "step";
inline constexpr std::string_view kMicroBatch = "micro_batch";
inline constexpr std::string_view kStage = "stage";
inline constexpr std::string_view kChunk = "chunk";
inline constexpr std::string_view kPart = "part";
inline constexpr std::string_view kNumber = "number";
inline constexpr std::string_view kPeer = "peer";
inline constexpr std::string_view kClass = "class";        ///< of a bubble
inline constexpr std::string_view kOwnName = "own_name";   ///< the name looks made up but is not
inline constexpr std::string_view kValue = "value";        ///< of a counter sample
inline constexpr std::string_view kEscapedKey = "arg.";    ///< + position + "." + key
inline constexpr std::string_view kEscapedReal = "real.";  ///< the same, value "inf" or "nan"

}  // namespace pipetrace::chrome_format
