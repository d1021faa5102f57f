#pragma once

#include <array>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "profiler/log/counter_sources.h"
#include "profiler/log/held_jobs.h"
#include "profiler/log/pending_lines.h"
#include "profiler/nvml/gpu_counters.h"
#include "profiler/process/log_file.h"
#include "profiler/ring/recording_state.h"
#include "profiler/ring/ring_texts.h"
#include "trace/error.h"
#include "trace/event.h"
#include "trace/log/log_writer.h"
#include "trace/rank_info.h"

namespace pipetrace {

/// A job log that could not be written to its end. It does not affect what the program does.
class LogLost : public Error {
 public:
  struct Loss {
    int rank = 0;
    std::int32_t step = kNotGiven;  ///< the first with a job that is missing; kNotGiven: no job is
    std::string why;                ///< "No space left on device"
  };

  LogLost(const std::string& text, Loss loss) : Error(text), loss_(std::move(loss)) {}

  const Loss& loss() const { return loss_; }

 private:
  Loss loss_;
};

/// The background half of a recorder: takes records out of the rings, asks streams for their times,
/// and writes each step's lines once the step is complete.
class LogThread {
 public:
  /// Opens `path`, writes `Profiler Meta:` and starts. `state` must outlive it. Throws Error.
  /// `giveWay`: as in RecorderOptions.
  LogThread(std::string path, RankInfo info, Nanoseconds holdLimit, std::function<void()> giveWay,
            RecordingState& state);
  /// close(), whose error goes to stderr.
  ~LogThread();

  /// The counters that have a function. Any thread.
  CounterSources& counterSources() { return sources_; }
  /// Those of the rank's GPU.
  GpuCounters& gpuCounters() { return gpu_; }

  /// Returns when everything recorded before the call is written, the lines of open steps included.
  /// Gives up when a stream has not known its times for kResolveLimit.
  void flush();
  /// flush(), writes `Profiler End:`, and ends the thread; then the log is free for another
  /// recorder. Throws Error when lines were lost because the file could not be written.
  void close();
  /// In a forked child, where the thread does not run: closes the log. After that nothing else may
  /// be called, and this object must not be destroyed.
  void abandon() noexcept { file_.abandon(); }

  static constexpr Nanoseconds kResolveLimit = 5 * kNsPerSecond;

 private:
  void run();
  void blockSignals();
  void drain(bool everything, bool isLast);
  void takeCounters();
  void takeEndedSteps();
  void takeJobs(int laneIndex, Nanoseconds now);
  void completeSteps();
  void writeLines(bool everything);
  void adaptInterval();
  bool anyLaneIsCrowded() const;
  bool ringsAreEmpty() const;
  void writeEnd();

  RecordingState& state_;
  const RankInfo info_;
  const Nanoseconds holdLimit_;
  LogFile file_;
  CounterSources sources_;
  GpuCounters gpu_;

  // Log thread only.
  Nanoseconds interval_;
  std::array<std::uint64_t, ring_format::kMaxLanes> seen_{};  // jobs finished by the last time
  LogWriter writer_;
  RingTexts texts_;
  HeldJobs held_;
  PendingLines lines_;
  std::deque<EndedStep> ended_;
  std::vector<TimedJob> ready_;
  std::vector<const ring_format::CounterSlot*> counters_;
  std::int64_t untimed_ = 0;  // jobs whose stream lost their times
  Nanoseconds oldestCounter_ = 0;
  bool endIsWritten_ = false;

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
