#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "trace/event.h"
#include "trace/job_kind.h"
#include "trace/log/log_writer.h"
#include "trace/text/decimal_digits.h"
#include "trace/text/in_place_text.h"

namespace pipetrace {

/// A job as a recorder has it; what does not apply is kNotGiven, null or empty.
struct StreamJob {
  JobKind kind = JobKind::kOther;
  std::int16_t chunk = kNotGiven;
  std::int32_t microBatch = kNotGiven;
  std::int32_t step = kNotGiven;
  std::int32_t stage = kNotGiven;
  Nanoseconds begin = 0;  ///< since the Unix epoch
  Nanoseconds end = 0;
  std::int64_t id = kNotGiven;
  std::int32_t peer = kNotGiven;   ///< not on a compute lane
  std::int64_t bytes = kNotGiven;  ///< not on a compute lane
  std::string_view action;         ///< on other lanes the members of a collective; see Job
  JobDetails details = {};         ///< on a compute lane only
  Phase phase = Phase::kTraining;
};

/// Formats the lines of one stream's jobs, with the same characters as LogWriter in half the time:
/// it makes the parts that all lines share once. Not thread-safe.
class StreamLineWriter {
 public:
  /// The lines have the prefix and thread of `writer`, which must outlive this object. `isCompute`:
  /// jobs become `Profiler Info:` lines; else `Profiler Stream:` lines.
  StreamLineWriter(LogWriter& writer, std::string_view stream, bool isCompute);

  void append(InPlaceText& out, const StreamJob& job);

 private:
  /// The text `, step = …, stage = …, chunk = …` of the jobs that have these numbers.
  struct Place {
    static constexpr std::size_t kRoom = 64;
    std::int32_t step = kNotGiven;
    std::int32_t stage = kNotGiven;
    std::int32_t chunk = kNotGiven;
    std::uint32_t size = 0;
    std::array<char, kRoom> text{};

    void make(const StreamJob& job);
  };
  const Place& placeOf(const StreamJob& job);
  void appendCompute(InPlaceText& out, const StreamJob& job);
  void appendOther(InPlaceText& out, const StreamJob& job);

  LogWriter& writer_;
  const bool isCompute_;
  std::string stream_;  // `, stream = …`, and room after it
  std::size_t streamSize_ = 0;
  CountingNumber ids_;
  std::array<Place, 8> places_;  // chunk c at c % 8: the chunks of a stage come in turn
};

}  // namespace pipetrace
