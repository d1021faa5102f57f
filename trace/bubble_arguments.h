#pragma once

#include <string_view>

/// Arguments of bubbles. A bubble with a culprit has its rank as Event::peer and its id as
/// Event::job.
namespace pipetrace::bubble_arguments {

/// The job that caused the bubble: "2F5" for forward 5 of stage 2, "optimizer".
inline constexpr std::string_view kCulprit = "culprit";

}  // namespace pipetrace::bubble_arguments
