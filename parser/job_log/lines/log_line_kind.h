#pragma once

#include <cstdint>
#include <string_view>

namespace pipetrace {

enum class LogLineKind : std::uint8_t {
  kOrdinary,  ///< output of the program that is none of ours
  kInfo,
  kStream,
  kMeta,
  kClock,
  kKernel,
  kCounter,
  kEnd,
  kFirstStep,  ///< PaddlePaddle's "Schedule Profiler start at step 3 and end at step 5"
};

/// PaddlePaddle's words, of a log whose jobs name no steps: which one the first is.
inline constexpr std::string_view kFirstStepMark = "Profiler start at step ";
inline constexpr std::string_view kLastStepMark = " and end at step";

struct LogLine {
  LogLineKind kind = LogLineKind::kOrdinary;
  std::string_view text;     ///< the line from its mark on
  std::string_view payload;  ///< what follows the mark "Profiler …: "
};

/// Which of our lines `text` is. What stands before the mark (glog's prefix) does not matter.
LogLine classifyLogLine(std::string_view text);

}  // namespace pipetrace
