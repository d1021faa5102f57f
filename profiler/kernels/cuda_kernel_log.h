#pragma once

#include <cstdint>
#include <string>

#include "profiler/process/until_fork.h"
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

}  // namespace pipetrace
