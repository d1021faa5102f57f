#pragma once

#include <cstdint>
#include <mutex>
#include <string>

#include "profiler/log_file.h"
#include "trace/log_writer.h"

namespace pipetrace {

/// Appends `Profiler Kernel:` lines to a rank's job log, beside its recorder: whole lines, many in
/// one write. To be opened after the recorder, whose `Profiler Meta:` line begins the run. Any
/// thread.
class CudaKernelLog {
 public:
  /// Throws Error.
  explicit CudaKernelLog(std::string path) : file_(std::move(path)) {}
  ~CudaKernelLog() { flush(); }
  CudaKernelLog(const CudaKernelLog&) = delete;
  CudaKernelLog& operator=(const CudaKernelLog&) = delete;

  void append(const KernelLine& line);
  void flush();

  /// Lines that are in the file, and lines that did not get there.
  std::int64_t written() const;
  std::int64_t lost() const;

 private:
  void writeOut();

  mutable std::mutex mutex_;
  LogFile file_;
  LogWriter writer_;
  std::string lines_;
  std::int64_t waiting_ = 0;
  std::int64_t written_ = 0;
  std::int64_t lost_ = 0;
};

}  // namespace pipetrace
