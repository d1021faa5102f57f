#pragma once

#include <string_view>

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
