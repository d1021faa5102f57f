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

/// Arguments of a collective that a compute job started, so that the ranks of its group wait for
/// each other inside their jobs. Event::job is that job. Where the work of jobs runs on a device
/// its times are those of its kernel. Else it lasts as long as the thread of the job did nothing
/// but wait for it.
namespace pipetrace::collective_arguments {

/// The ranks of the run that take part, with blanks between: "4 5 6 7".
inline constexpr std::string_view kGroup = "group_ranks";
/// What the group is for, as ranks may be several groups: axisWords(), else the group's name. Not
/// there: the trace does not say it.
inline constexpr std::string_view kUse = "group_use";
/// Those of the group with which it exchanges data, and which it waits for, where these are not all
/// others, as in a ring: "5 7".
inline constexpr std::string_view kPartners = "group_partners";
/// Of a collective that is one end of a message: the ranks of sender and receiver, "5 6".
inline constexpr std::string_view kMessage = "group_message";
/// Its number in its group, where the trace says it: members have the same one.
inline constexpr std::string_view kSequence = "group_seq";

}  // namespace pipetrace::collective_arguments

/// Arguments of compute jobs in which ranks meet, in nanoseconds. They add up to the job with what
/// the device waited for the host. Collectives have what of the last two is theirs. Analysis adds
/// them with the bubbles.
namespace pipetrace::inside_arguments {

inline constexpr std::string_view kOwnTime = "own_ns";          ///< kernels of the rank computed
inline constexpr std::string_view kWaiting = "wait_inside_ns";  ///< for the last of a collective
inline constexpr std::string_view kMoving = "move_inside_ns";   ///< a collective moved data

}  // namespace pipetrace::inside_arguments

/// Arguments of bubbles. A bubble with a culprit has its rank as Event::peer and its id as
/// Event::job.
namespace pipetrace::bubble_arguments {

/// The job that caused the bubble: "2F5" for forward 5 of stage 2, "optimizer".
inline constexpr std::string_view kCulprit = "culprit";

}  // namespace pipetrace::bubble_arguments
