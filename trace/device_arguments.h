#pragma once

#include <string_view>

/// Arguments of a job whose times are those of its work and not those of its annotation on the
/// host. Times and lengths are nanoseconds; host_begin and host_end count as Event::begin does, on
/// the host's clock. A send that a trace gives with the wait for its end has these two as well.
namespace pipetrace::device_arguments {

inline constexpr std::string_view kHostBegin = "host_begin";
inline constexpr std::string_view kHostEnd = "host_end";
inline constexpr std::string_view kKernels = "kernels";         ///< their number
inline constexpr std::string_view kDeviceBusy = "device_busy";  ///< the union of its work
/// The part of the rest of the job in which a collective ran that the job launched.
inline constexpr std::string_view kCommInside = "comm_inside";
/// How much of its work has no time and was left out, where there is any.
inline constexpr std::string_view kUntimed = "untimed";
/// "host" for a job without work of its own in the trace, which has the host's times.
inline constexpr std::string_view kTime = "time";
inline constexpr std::string_view kTimeOfHost = "host";

}  // namespace pipetrace::device_arguments
