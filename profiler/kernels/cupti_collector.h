#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "profiler/kernels/cupti_api.h"
#include "profiler/process/in_forked_child.h"
#include "trace/log/log_lines.h"

namespace pipetrace {

/// Appends `Profiler Kernel:` lines to a rank's job log, beside its recorder: whole lines, many in
/// one write. Open it after the recorder, whose `Profiler Meta:` line begins the run. Any thread.
/// In a child that is forked meanwhile every call does nothing.
class CudaKernelLog {
 public:
  /// Throws Error.
  explicit CudaKernelLog(std::string path);
  /// flush().
  ~CudaKernelLog();
  CudaKernelLog(const CudaKernelLog&) = delete;
  CudaKernelLog& operator=(const CudaKernelLog&) = delete;

  void append(const KernelLine& line);
  void flush();

  /// The number of lines that are in the file, and of lines that did not get there.
  std::int64_t written() const;
  std::int64_t lost() const;

 private:
  class Impl;
  UntilFork<Impl> impl_;
};

/// Collects the kernels, copies and memsets of this process through CUPTI, and writes each with the
/// job that queued it, into the log of that job. Where several ranks share a process, each has its
/// log; work that no job has queued goes into the first. Optional: where CUPTI cannot be had (no
/// device, another tool attached), the collector says why, once, and does nothing. It does nothing
/// in a child that is forked meanwhile, either.
class CuptiCollector {
 public:
  /// How often CUPTI is asked for complete records; its own period is not reliable.
  static constexpr Nanoseconds kFlushEvery = 200 * kNsPerMs;

  /// Starts. Logs must outlive this, or be removed before.
  CuptiCollector(std::shared_ptr<CuptiApi> api, CudaKernelLog& log,
                 Nanoseconds flushEvery = kFlushEvery);
  /// stop().
  ~CuptiCollector();
  CuptiCollector(const CuptiCollector&) = delete;
  CuptiCollector& operator=(const CuptiCollector&) = delete;

  bool isRunning() const noexcept;
  /// Why it is not running.
  const std::string& trouble() const { return trouble_; }

  /// The log of another rank, for its jobs. Returns its number; that of the first is 0. Any thread.
  int addLog(CudaKernelLog& log);
  /// Writes what jobs of that log have done, once the device is done with them, and forgets the
  /// log. Any thread.
  void removeLog(int number);

  /// Work that this thread queues from now on belongs to `job`, below 2^48, of that log, until
  /// endJob(). Call it on every thread that queues work of a job, autograd's included. Does nothing
  /// if not running.
  void beginJob(std::int64_t job, int log = 0) noexcept;
  void endJob() noexcept;

  /// Writes all that has ended and detaches from CUPTI. Call it when the device is done. Reports on
  /// stderr, in one line, if something is missing.
  void stop();

  /// Records that CUPTI dropped; final after stop().
  std::int64_t dropped() const { return dropped_; }

 private:
  class Impl;
  UntilFork<Impl> impl_;
  std::string trouble_;
  std::int64_t dropped_ = 0;
};

}  // namespace pipetrace
