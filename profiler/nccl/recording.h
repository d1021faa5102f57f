#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "profiler/nccl/events.h"
#include "profiler/process/in_forked_child.h"
#include "profiler/process/log_file.h"
#include "profiler/recorder.h"
#include "trace/log/log_writer.h"

namespace pipetrace {

/// Writes NCCL's operations in this process into a recorder's job log, as long as it lives. They
/// are lines of the stream `nccl` (docs/log-format.md), each with the compute job that was open
/// when NCCL was called. NCCL reports them to its profiler plugin (profiler/nccl/plugin.h); until
/// it has loaded that, this does nothing. One recorder of a process is served. In a forked child it
/// has ended.
class NcclRecording {
 public:
  /// How often new operations are written.
  static constexpr Nanoseconds kEvery = 200 * kNsPerMs;

  /// `recorder` must outlive it. Does not throw for what can go wrong, see trouble().
  explicit NcclRecording(Recorder& recorder);
  /// Writes the rest. Reports on stderr if operations were lost.
  ~NcclRecording();
  NcclRecording(const NcclRecording&) = delete;
  NcclRecording& operator=(const NcclRecording&) = delete;

  bool isRunning() const { return trouble_.empty(); }
  /// Why it is not running.
  const std::string& trouble() const { return trouble_; }

  /// Writes complete operations; `all`: also those that wait for their kernel's times.
  void flush(bool all = false);

  /// Called by the plugin when NCCL has a communicator, so there will be operations to write.
  void begin();
  /// Called by the plugin on any thread: the compute job that is open.
  std::int64_t openJob() const noexcept { return recorder_.openJob(); }

 private:
  void abandon() noexcept;
  void run();
  void write(const NcclOperation& operation, std::string& lines);

  Recorder& recorder_;
  std::string trouble_;
  std::int64_t lostBefore_ = 0;

  std::mutex writing_;  // guards the next four
  std::unique_ptr<LogFile> file_;
  LogWriter writer_;
  std::vector<NcclOperation> operations_;
  std::int64_t unwritten_ = 0;

  std::mutex mutex_;
  std::condition_variable wake_;
  bool stop_ = false;
  std::thread thread_;
  const InForkedChild inForkedChild_;
};

}  // namespace pipetrace
