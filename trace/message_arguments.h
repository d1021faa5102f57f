#pragma once

#include <string_view>

/// Arguments of transfers.
namespace pipetrace::message_arguments {

/// "early" for a message that was there before its receiver waited for it. It bound nothing, and
/// how long it was under way is not known.
inline constexpr std::string_view kArrived = "arrived";
inline constexpr std::string_view kEarly = "early";

}  // namespace pipetrace::message_arguments
