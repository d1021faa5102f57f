#pragma once

#include <cstdint>
#include <string_view>

namespace pipetrace {

enum class LogLineKind : std::uint8_t {
  kOrdinary,  ///< ordinary output of the program
  kInfo,
  kStream,
  kMeta,
  kClock,
  kKernel,
  kCounter,
  kEnd,
  kFirstStep,  ///< PaddlePaddle's "Schedule Profiler start at step 3 and end at step 5"
};

/// PaddlePaddle's words for the first step, in a log whose jobs name no steps.
inline constexpr std::string_view kFirstStepMark = "Profiler start at step ";
inline constexpr std::string_view kLastStepMark = " and end at step";

struct LogLine {
  LogLineKind kind = LogLineKind::kOrdinary;
  std::string_view text;     ///< the line from its mark on
  std::string_view payload;  ///< the text after the mark "Profiler …: "
};

/// The kind of line that `text` is. Text before the mark (glog's prefix) does not matter.
LogLine classifyLogLine(std::string_view text);

}  // namespace pipetrace
