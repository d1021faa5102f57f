#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace pipetrace {

/// Whether the host waits for a device in that call of CUDA: it synchronises, copies and waits for
/// the copy, or frees memory. cudaStreamWaitEvent() does not: a stream waits there.
bool waitsForDevice(std::string_view call);

/// Counts the calls of CUDA in which threads wait for a device, as CUPTI's callbacks have them.
/// They come on the thread that calls. A call that another one makes is part of that.
///
/// Threads: one makes and destroys it; the static functions are for any. One in a process.
class CudaWaits {
 public:
  using Counts = std::map<std::string, std::int64_t>;  ///< by call, such as "cudaEventSynchronize"

  /// Watches. Where CUPTI refuses, it only says why.
  CudaWaits();
  ~CudaWaits();
  CudaWaits(const CudaWaits&) = delete;
  CudaWaits& operator=(const CudaWaits&) = delete;

  /// Why it does not watch; empty: it does.
  const std::string& trouble() const { return trouble_; }

  /// Calls of this thread count from now on, until end().
  static void begin() noexcept;
  static void end() noexcept;
  /// This thread enters a call that waits, or leaves one.
  static void entered(const std::string& call);
  static void left() noexcept;
  /// The counts of all threads since the last take().
  static Counts take();

 private:
  void* subscriber_ = nullptr;
  std::string trouble_;
};

}  // namespace pipetrace
