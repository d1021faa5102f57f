#pragma once

#include <string_view>

/// The words that profiles of several formats share (docs/profile-format.md).
namespace pipetrace::common_format {

inline constexpr int kVersion = 1;

/// In Chrome JSON; PyTorch uses the same name.
inline constexpr std::string_view kBaseTime = "baseTimeNanoseconds";

// The object with the metadata of a profile.
inline constexpr std::string_view kOurs = "pipetrace";  ///< its name
inline constexpr std::string_view kFormat = "format";
inline constexpr std::string_view kOrigin = "origin_ns";
inline constexpr std::string_view kRanks = "ranks";
inline constexpr std::string_view kCounters = "counters";
inline constexpr std::string_view kTimeNs = "time_ns";
inline constexpr std::string_view kEnd = "end";
inline constexpr std::string_view kNotFinite = "not_finite";

// Arguments of an event.
inline constexpr std::string_view kJob = "job";
inline constexpr std::string_view kStep = "step";
inline constexpr std::string_view kMicroBatch = "micro_batch";
inline constexpr std::string_view kStage = "stage";
inline constexpr std::string_view kChunk = "chunk";
inline constexpr std::string_view kPart = "part";
inline constexpr std::string_view kNumber = "number";
inline constexpr std::string_view kPeer = "peer";
inline constexpr std::string_view kPhase = "phase";        ///< as in the job log; training: none
inline constexpr std::string_view kClass = "class";        ///< of a bubble
inline constexpr std::string_view kOwnName = "own_name";   ///< the name looks made up but is not
inline constexpr std::string_view kEscapedKey = "arg.";    ///< + position + "." + key
inline constexpr std::string_view kEscapedReal = "real.";  ///< the same, value "inf" or "nan"

}  // namespace pipetrace::common_format
