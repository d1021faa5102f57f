#pragma once

#include <cstdint>
#include <string>
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

/// Walks the `key = value` pairs of a line of the job log. They are split at ", " outside double
/// quotes.
class LogFields {
 public:
  struct Field {
    std::string_view key;
    std::string_view value;  ///< a quoted one as the text of its JSON string
    bool quoted = false;
  };

  explicit LogFields(std::string_view text) : rest_(text) {}

  /// The next pair; false at the end. The views hold until the next call. A part that is no pair is
  /// skipped and remembered.
  bool next(Field& field);

  /// Whether a part of the line was no `key = value`, or a quote had no end.
  bool malformed() const { return malformed_; }

 private:
  std::string_view cutPart();

  std::string_view rest_;
  std::string unquoted_;
  bool malformed_ = false;
};

}  // namespace pipetrace
