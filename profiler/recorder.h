#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "profiler/clock/host_clock.h"
#include "profiler/clock/wall_clock.h"
#include "profiler/device_stream.h"
#include "profiler/job.h"
#include "profiler/ring/recording_state.h"
#include "profiler/switches.h"
#include "trace/rank_info.h"

namespace pipetrace {

struct RecorderOptions {
  /// Empty: "logs". Made if missing; the log is logDirectory/workerlog.<info.rank>, and .zst behind
  /// that where logs are compressed (compressesLogs()).
  std::string logDirectory;
  RankInfo info{};  ///< what `Profiler Meta:` says; host and clock are filled in if empty
  /// Records a stream can hold until they are written, of 92 bytes each: rounded up to a power of
  /// two.
  std::size_t ringSlots = 1 << 14;
  Nanoseconds holdLimit = kNsPerSecond;  ///< how long a step's lines wait for the step to end
  OnOff isOn = true;                     ///< off: nothing is recorded, and no file is touched
  StepRange steps{};                     ///< jobs and samples of other steps are not recorded
  /// Keep records in a file beside the log until they are written, so that they outlive the
  /// process.
  bool ringFile = true;
  std::optional<WallClock> clock{};   ///< of all lines; not given: this host's
  std::optional<TickSource> ticks{};  ///< of CPU streams; not given: the best there is
  /// Called when another recorder of this process opens the same log, on that one's thread. It has
  /// to close this recorder; the other's run begins after it. None: the other recorder is refused.
  std::function<void()> giveWay{};
};

/// Index of a stream of a recorder.
using StreamId = int;

/// Records the jobs of one rank, stream by stream, into its job log (docs/log-format.md).
///
/// begin() and end() take no lock, allocate nothing and never wait: they stamp the stream and fill
/// one slot of the stream's ring. A background thread resolves the stamps, sorts each step's jobs
/// by their start and writes the lines. A full ring drops the record and counts it. A recorder that
/// is off costs each call one branch.
///
/// Where a stream is on an NVIDIA GPU, that thread also samples what the driver says of it: of the
/// first such GPU, once a second, unless PIPETRACE_NVML is 0 (profiler/nvml/gpu_counters.h).
///
/// In a child that is forked while a recorder is on, it is off: its calls do nothing. Neither
/// close() nor the destructor touches the files, which are the parent's. The child may open a
/// recorder of its own, with another rank or folder.
///
/// Threads: addStream() comes before the first job. Then each stream has one thread at a time;
/// different streams may have different threads. Any thread may call nextJobId() and counter().
/// Call beginStep() and endStep() on the compute stream's thread. Call flush() and close() when no
/// thread is recording.
class Recorder {
 public:
  /// Opens the log for appending and writes `Profiler Meta:`. Throws Error if it cannot, and for a
  /// rank below 0, a world size below 1, or a PIPETRACE_NVML or PIPETRACE_LOG_COMPRESS without a
  /// meaning. Throws it, too, if
  /// another open recorder, of any process, has the log and does not give way. If there can be no
  /// ring file, it says so on stderr and goes on without.
  explicit Recorder(RecorderOptions options);
  /// close(); its error goes to stderr.
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  /// Also false after fork(), in the child.
  bool isOn() const noexcept { return state_ != nullptr; }

  /// The job of the compute stream that is open now; kNotGiven: none. Any thread.
  std::int64_t openJob() const noexcept;

  /// For code that writes other lines into the same log. Call them only if the recorder is on.
  const std::string& logPath() const;
  const RankInfo& info() const;
  const WallClock& clock() const;  ///< the clock of all lines

  /// The lane's name ("compute", "send", …). Jobs of the stream named "compute" become
  /// `Profiler Info:` lines, those of all others `Profiler Stream:` lines. Throws Error for a null
  /// stream, a name that is there already, and past 64 streams.
  StreamId addStream(std::string name, std::unique_ptr<DeviceStream> stream);
  DeviceStream& stream(StreamId id);

  /// A number for a job of the compute stream that was never handed out before on this rank.
  std::int64_t nextJobId() noexcept { return isOn() ? drawJobId() : kNotGiven; }

  /// Opens a job on a stream that has none open: jobs do not nest. A job that is open is lost and
  /// counted as an error. Returns the new job's id; kNotGiven if it has none, or is not recorded.
  [[gnu::always_inline]] std::int64_t begin(StreamId stream, const Job& job) noexcept {
    return isOn() ? state_->begin(stream, job) : kNotGiven;
  }
  /// In place of begin(), for an argument that is no job: counts an error, and end() has nothing to
  /// close.
  void refuse(StreamId stream) noexcept {
    if (isOn()) state_->refuse(stream);
  }
  /// end() for a job that was over at `mark`: for work that is done on one thread and recorded on
  /// another, once that knows.
  void endAt(StreamId stream, DeviceStream::Mark mark, std::int64_t bytes = kNotGiven) noexcept {
    if (isOn()) state_->endAt(stream, mark, bytes);
  }
  /// A stamp of now, for beganAt() and endAt(). The stream must not be asynchronous. Any thread.
  DeviceStream::Mark mark(StreamId stream) const noexcept;
  /// Says that the stream's open job began before begin() was called: at `mark`, of this stream and
  /// taken by any thread. For work that is handed over on one thread and recorded on another.
  void beganAt(StreamId stream, DeviceStream::Mark mark) noexcept {
    if (isOn()) state_->beganAt(stream, mark);
  }
  /// In place of end(): forgets the stream's open job, which is no error.
  void cancel(StreamId stream) noexcept {
    if (isOn()) state_->cancel(stream);
  }
  /// begin() and end() at once, for a job that began and ended at these times of CLOCK_MONOTONIC.
  /// The stream must not be asynchronous, nor have a job open; else an error is counted.
  void record(StreamId stream, const Job& job, Nanoseconds began, Nanoseconds ended) noexcept {
    if (isOn()) state_->record(stream, job, began, ended);
  }
  /// Closes the stream's open job. `bytes`, if given, replaces the job's.
  void end(StreamId stream, std::int64_t bytes = kNotGiven) noexcept {
    if (isOn()) state_->end(stream, bytes);
  }

  /// Says that jobs which name no step belong to `step` from now on.
  void beginStep(std::int32_t step) noexcept;
  /// Says that jobs which begin from now on, on all streams, are of `phase`; at first they are of
  /// training. Their lines have `phase = evaluate` or `phase = predict`; those of training have no
  /// such key. Samples have no phase. Call it between two steps, when no job is open: the steps of
  /// all phases have one numbering. Any thread; it has an effect on jobs that begin after it.
  void setPhase(Phase phase) noexcept;
  /// Says that all compute jobs of `step` have been closed, so that its lines can be written.
  void endStep(std::int32_t step) noexcept;

  /// A text of this content that lives as long as the recorder, for a name that the program makes
  /// up. Texts that jobs and samples name are read when their lines are written, so they must stay
  /// as they are until the recorder is closed. Equal contents give the same text. Any thread. Takes
  /// a lock, and allocates for new content: call it before the loop. Empty if the recorder is off.
  const char* text(std::string_view content);

  /// One sample of a counter, now. Without a name it is not recorded, and counted as an error.
  /// `name` and `unit` must stay as they are until the recorder is closed, see text().
  void counter(const char* name, double value, const char* unit = "") noexcept {
    if (isOn()) sample(name, value, unit);
  }
  /// A counter whose value is asked for about ten times a second, by a thread of the recorder,
  /// until close(). A call that throws makes no sample, and is counted as an error.
  void addCounter(std::string name, std::string unit, std::function<double()> value);

  /// Waits until everything recorded so far is written to the file.
  void flush();
  /// flush(), then `Profiler End:`. Throws LogLost if the log could not be written (disk full).
  /// Jobs that are open are not recorded, and counted as errors. Later calls of anything do
  /// nothing.
  void close();

 private:
  class Impl;

  void abandon() noexcept;
  std::int64_t drawJobId() noexcept;
  void sample(const char* name, double value, const char* unit) noexcept;

  std::unique_ptr<Impl> impl_;
  RecordingState* state_ = nullptr;  // its; null: off
};

}  // namespace pipetrace
