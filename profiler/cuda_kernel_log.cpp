#include "profiler/cuda_kernel_log.h"

#include "profiler/wall_clock.h"

namespace pipetrace {
namespace {

constexpr std::size_t kWriteSize = 64 * 1024;

}  // namespace

void CudaKernelLog::append(const KernelLine& line) {
  const std::lock_guard lock(mutex_);
  writer_.setNow(line.end);
  writer_.append(lines_, line);
  ++waiting_;
  if (lines_.size() >= kWriteSize) writeOut();
}

void CudaKernelLog::flush() {
  const std::lock_guard lock(mutex_);
  writeOut();
}

void CudaKernelLog::writeOut() {
  if (waiting_ == 0) return;
  const std::int64_t lost = file_.append(lines_);
  lost_ += lost;
  written_ += waiting_ - lost;
  waiting_ = 0;
  lines_.clear();
}

std::int64_t CudaKernelLog::written() const {
  const std::lock_guard lock(mutex_);
  return written_;
}

std::int64_t CudaKernelLog::lost() const {
  const std::lock_guard lock(mutex_);
  return lost_;
}

}  // namespace pipetrace
