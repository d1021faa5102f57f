#pragma once

#include <string_view>

/// Arguments of transfers.
namespace pipetrace::message_arguments {

/// "early" for a message that was there before its receiver waited for it. It bound nothing, and
/// how long it was under way is not known.
inline constexpr std::string_view kArrived = "arrived";
inline constexpr std::string_view kEarly = "early";

/// How long after the end of the message before it on its stream the host posted it, in
/// nanoseconds. Not there: the host had posted it before.
inline constexpr std::string_view kPostDelay = "post_delay_ns";

/// The number that the two ends of a message without a micro-batch have in common.
inline constexpr std::string_view kMessage = "message";

}  // namespace pipetrace::message_arguments
