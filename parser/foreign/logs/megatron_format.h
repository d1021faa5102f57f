#pragma once

#include <string_view>

/// The words of MegatronApp's files that reading and aligning share.
namespace pipetrace::megatron_format {

inline constexpr std::string_view kLane = "iterations";  ///< our name
inline constexpr std::string_view kIteration = "iteration";
inline constexpr std::string_view kRelativeTime = "rel_ts";
inline constexpr std::string_view kPad = "pad_before";
inline constexpr std::string_view kWallTime = "duration_wall";

}  // namespace pipetrace::megatron_format
