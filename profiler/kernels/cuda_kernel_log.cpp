#include "profiler/kernels/cuda_kernel_log.h"

#include <mutex>
#include <utility>

#include "profiler/process/log_file.h"
#include "trace/log/log_writer.h"

namespace pipetrace {
namespace {

constexpr std::size_t kWriteSize = 64 * 1024;

}  // namespace

class CudaKernelLog::Impl {
 public:
  explicit Impl(std::string path) : file_(std::move(path)) {}
  ~Impl() { flush(); }
  void abandon() noexcept { file_.abandon(); }

  void append(const KernelLine& line) {
    const std::lock_guard lock(mutex_);
    writer_.setNow(line.end);
    writer_.append(lines_, line);
    ++waiting_;
    if (lines_.size() >= kWriteSize) writeOut();
  }
  void flush() {
    const std::lock_guard lock(mutex_);
    writeOut();
  }
  std::int64_t written() const {
    const std::lock_guard lock(mutex_);
    return written_;
  }
  std::int64_t lost() const {
    const std::lock_guard lock(mutex_);
    return lost_;
  }

 private:
  void writeOut() {
    if (waiting_ == 0) return;
    const std::int64_t lost = file_.append(lines_);
    lost_ += lost;
    written_ += waiting_ - lost;
    waiting_ = 0;
    lines_.clear();
  }

  mutable std::mutex mutex_;
  LogFile file_;
  LogWriter writer_;
  std::string lines_;
  std::int64_t waiting_ = 0;
  std::int64_t written_ = 0;
  std::int64_t lost_ = 0;
};

CudaKernelLog::CudaKernelLog(std::string path) : impl_(std::in_place, std::move(path)) {}

CudaKernelLog::~CudaKernelLog() = default;

void CudaKernelLog::append(const KernelLine& line) {
  if (Impl* const impl = impl_.get()) impl->append(line);
}

void CudaKernelLog::flush() {
  if (Impl* const impl = impl_.get()) impl->flush();
}

std::int64_t CudaKernelLog::written() const {
  const Impl* const impl = impl_.get();
  return impl == nullptr ? 0 : impl->written();
}

std::int64_t CudaKernelLog::lost() const {
  const Impl* const impl = impl_.get();
  return impl == nullptr ? 0 : impl->lost();
}

}  // namespace pipetrace
