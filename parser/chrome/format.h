#pragma once

#include <string_view>

/// The words of the Chrome JSON of our profiles (docs/profile-format.md) that its writer and its
/// reader share, and no other format has.
namespace pipetrace::chrome_format {

inline constexpr std::string_view kTraceEvents = "traceEvents";
inline constexpr std::string_view kOtherData = "otherData";

/// In the arguments of thread_name: the lane that a row is a sub-lane of.
inline constexpr std::string_view kLane = "lane";

inline constexpr std::string_view kValue = "value";  ///< of a counter sample

}  // namespace pipetrace::chrome_format
