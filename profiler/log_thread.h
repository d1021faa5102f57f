#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "profiler/held_jobs.h"
#include "profiler/log_file.h"
#include "profiler/recording_state.h"
#include "trace/log_writer.h"
#include "trace/rank_info.h"

namespace pipetrace {

/// The background half of a recorder: takes records out of the rings, learns their times, and
/// writes each step's lines once the step is complete.
class LogThread {
 public:
  /// Opens `path`, writes `Profiler Meta:` and starts. `state` must outlive it. Throws Error.
  LogThread(std::string path, RankInfo info, Nanoseconds holdLimit, RecordingState& state);
  ~LogThread();

  /// Returns when everything recorded before the call is written, the lines of unended steps
  /// included, or when a stream has not told its times for kResolveLimit.
  void flush();
  /// flush(), `Profiler End:`, and the end of the thread. Throws Error when lines were lost because
  /// the file could not be written.
  void close();

  static constexpr Nanoseconds kResolveLimit = 5 * kNsPerSecond;

 private:
  void run();
  void blockSignals();
  void drain(bool everything);
  void takeCounters();
  void takeEndedSteps();
  void takeJobs(int laneIndex, Nanoseconds now);
  void completeSteps();
  void format(const TimedJob& timed);
  void writeLines(bool everything);
  bool ringsAreEmpty() const;
  void writeEnd();

  RecordingState& state_;
  const RankInfo info_;
  const Nanoseconds holdLimit_;
  LogFile file_;

  // Log thread only.
  LogWriter writer_;
  HeldJobs held_;
  std::deque<EndedStep> ended_;
  std::vector<TimedJob> ready_;
  std::vector<CounterRecord> counters_;
  std::string lines_;
  std::int64_t formatted_ = 0;  // job and counter lines in lines_
  std::int64_t written_ = 0;
  std::int64_t lost_ = 0;     // lines that did not get into the file
  std::int64_t untimed_ = 0;  // jobs whose stream lost their times
  Nanoseconds oldestCounter_ = 0;

  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable done_;
  std::uint64_t flushesAsked_ = 0;
  std::uint64_t flushesDone_ = 0;
  bool stop_ = false;
  bool closed_ = false;
  std::thread thread_;
};

}  // namespace pipetrace
