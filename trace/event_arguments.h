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

/// Arguments of transfers, and of jobs that waited for some.
namespace pipetrace::message_arguments {

/// "early" for a message that was there before its receiver waited for it. It bound nothing, and
/// how long it was under way is not known.
inline constexpr std::string_view kArrived = "arrived";
inline constexpr std::string_view kEarly = "early";

/// How long the thread that runs the receiver's jobs did nothing but wait for it, up to its end, in
/// nanoseconds. Not there: the trace does not say it.
inline constexpr std::string_view kWaited = "waited_ns";

/// How long after the end of the message before it on its stream the host posted it, in
/// nanoseconds. Not there: the host had posted it before.
inline constexpr std::string_view kPostDelay = "post_delay_ns";

/// An argument of jobs: how long after the last wait of its rank's thread for a message the job
/// began, where nobody knows whose message that is, in nanoseconds. Not there: there was no such
/// wait since the job before.
inline constexpr std::string_view kAfterWait = "after_wait_ns";

/// The number that the two ends of a message without a micro-batch have in common.
inline constexpr std::string_view kMessage = "message";

}  // namespace pipetrace::message_arguments

/// Arguments of bubbles. A bubble with a culprit has its rank as Event::peer and its id as
/// Event::job.
namespace pipetrace::bubble_arguments {

/// The job that caused the bubble: "2F5" for forward 5 of stage 2, "optimizer".
inline constexpr std::string_view kCulprit = "culprit";

}  // namespace pipetrace::bubble_arguments
