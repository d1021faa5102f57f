#pragma once

#include <cstdint>
#include <vector>

#include "profiler/log/held_jobs.h"
#include "profiler/process/log_file.h"
#include "profiler/ring/recording_state.h"
#include "trace/event.h"
#include "trace/log/log_writer.h"
#include "trace/log/stream_line_writer.h"
#include "trace/text/in_place_text.h"

namespace pipetrace {

/// Lines on their way to the file. A write(2) takes at least kLines of them, unless they have
/// waited too long. The slots of their records are given back only when it has returned. Log thread
/// only.
class PendingLines {
 public:
  static constexpr int kLines = 64;
  /// Lines that come at once are written this many at a time: then the kernel needs half the time
  /// for a line that it needs with kLines.
  static constexpr int kMostLines = 512;
  /// How long a line waits for others.
  static constexpr Nanoseconds kPatience = 100 * kNsPerMs;

  /// All three must outlive it.
  PendingLines(LogWriter& writer, LogFile& file, RecordingState& state)
      : writer_(writer), file_(file), state_(state) {}

  /// Lines are added at `now`, CLOCK_MONOTONIC.
  void setNow(Nanoseconds now);
  void add(const TimedJob& job);
  void add(const ring_format::CounterSlot& sample);

  /// Writes the lines if there are enough for a write, or if they have waited long enough.
  void writeOld();
  void writeAll();

  /// Lines that are in the file.
  std::int64_t written() const { return written_; }
  /// Lines that did not get into it. The first loss is reported on stderr.
  std::int64_t lost() const { return lost_; }
  /// The step of the first job among them; kNotGiven: no job is, or it has no step.
  std::int32_t lostSince() const { return lostSince_; }

 private:
  struct Place {
    std::int32_t lane;
    std::uint32_t slot;
    int line;  ///< how many lines come before it
  };
  StreamLineWriter& writerOf(std::int32_t lane);
  void addLine();
  void noteFirstLoss(std::int64_t lost);
  void sayLoss() const;

  LogWriter& writer_;
  LogFile& file_;
  RecordingState& state_;
  std::vector<StreamLineWriter> writers_;  // of each lane
  Nanoseconds now_ = 0;
  Nanoseconds since_ = 0;  // when the first of the lines was added
  bool looks_ = true;      // whether the file is still there, once each time
  InPlaceText text_;
  int count_ = 0;
  std::vector<Place> places_;  // of the jobs in text_
  std::uint64_t samples_ = 0;  // in text_
  std::int64_t written_ = 0;
  std::int64_t lost_ = 0;
  std::int32_t lostSince_ = kNotGiven;
  bool saidLoss_ = false;
};

}  // namespace pipetrace
