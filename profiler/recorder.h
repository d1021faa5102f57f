#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "profiler/device_stream.h"
#include "profiler/job.h"
#include "trace/rank_info.h"

namespace pipetrace {

struct RecorderOptions {
  std::string logDirectory;  ///< made if missing; the log is logDirectory/workerlog.<info.rank>
  RankInfo info;             ///< what `Profiler Meta:` says; host and clock are filled in if empty
  std::size_t ringSlots = 1 << 14;       ///< records a stream can hold until they are written
  Nanoseconds holdLimit = kNsPerSecond;  ///< how long a step's lines wait for the step to end
};

/// Index of a stream of a recorder.
using StreamId = int;

/// Records the jobs of one rank, stream by stream, into its job log (docs/log-format.md).
///
/// begin() and end() take no lock, allocate nothing and never wait: they stamp the stream and push
/// one record into the stream's ring; a background thread resolves the stamps, sorts each step's
/// jobs by their start and writes the lines. A full ring drops the record and counts it.
///
/// Threads: addStream() before the first job; then one thread at a time per stream, different
/// streams from different threads; nextJobId() and counter() from any thread; endStep() from the
/// thread of the compute stream; flush() and close() when no thread is recording.
class Recorder {
 public:
  /// Opens the log for appending and writes `Profiler Meta:`. Throws Error if it cannot.
  explicit Recorder(RecorderOptions options);
  /// close(), with errors swallowed.
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  /// The lane's name ("compute", "send", …). Jobs of the stream named "compute" become
  /// `Profiler Info:` lines, those of all others `Profiler Stream:` lines. At most 64 streams.
  StreamId addStream(std::string name, std::unique_ptr<DeviceStream> stream);
  DeviceStream& stream(StreamId id);

  /// A number for a job of the compute stream that was never handed out before on this rank.
  std::int64_t nextJobId() noexcept;

  /// Opens a job on a stream that has none open. Returns its id.
  std::int64_t begin(StreamId stream, const Job& job) noexcept;
  /// Closes the stream's open job. `bytes`, if given, replaces the job's.
  void end(StreamId stream, std::int64_t bytes = kNotGiven) noexcept;

  /// Says that all compute jobs of `step` have been closed, so that its lines can be written.
  void endStep(std::int32_t step) noexcept;

  /// One sample of a counter, now. `name` and `unit` must outlive the recorder.
  void counter(const char* name, double value, const char* unit = "") noexcept;

  /// Waits until all that was recorded is written to the file.
  void flush();
  /// flush(), then `Profiler End:`. Throws Error if the log could not be written (disk full).
  /// Later calls do nothing.
  void close();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace pipetrace
