#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Stream.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace pipetrace {

// Tests: a device for LibTorch (PrivateUse1) that checks streams without a GPU. Its memory is the
// host's, and the CPU's kernels carry out each operator at once, so results have the CPU's bits.
// Streams, events and host threads keep vector clocks, so what real streams would do wrong now and
// then is found in every run:
//   - a stream reads or writes what another one writes or reads, and does not wait for it;
//   - memory is used on a stream that does not wait for the stream it was allocated on;
//   - memory is freed while another stream uses it, without record_stream;
//   - an operator reads memory that nobody has written;
//   - the host reads or writes pinned memory too early.
// Two devices in one operator throw, as on CUDA.
//
// Limits. Work is done when it is enqueued. So where a stream waits for what is not enqueued yet
// (blockLater()), the host waits at the stream's next work, and at whoever waits for the stream. A
// tensor counts as all bytes from its first to its last element. The clocks do not see mutexes:
// what a thread knows to be completed reaches another thread by a HostToken. A thread of the
// autograd engine has no token: with `set_multithreading_enabled(true)` waits of the host are not
// known there. Sparse and quantized tensors and CUDA graphs are not there. Never in a process that
// uses CUDA: LibTorch would no longer order CUDA's streams.
//
// Threads: any, unless a function says otherwise.

inline constexpr int kTestDevices = 4;

/// Makes the device known to LibTorch. Before everything else; more calls do nothing. Throws
/// c10::Error where libtorch_cuda is loaded.
void installTestDevice();
c10::Device testDevice(int index = 0);

/// Between tests: forgets findings, counts and clocks, and takes back limits, hooks and the watch
/// of the CPU's operators. All work so far counts as completed. Memory, streams and events stay
/// good. No other thread may use the device meanwhile.
void resetTestDevice();

/// All findings since the last call. A finding names operators, the tensor, and both streams. A
/// missing wait is found once: after that the stream is taken to have waited.
std::vector<std::string> takeTestDeviceFindings();

/// While it lives, findings about the operators of this thread carry its text.
class DeviceLabel {
 public:
  explicit DeviceLabel(const std::string& text);
  ~DeviceLabel();
  DeviceLabel(const DeviceLabel&) = delete;
  DeviceLabel& operator=(const DeviceLabel&) = delete;

 private:
  const std::string* const outer_;
};

/// The knowledge of the host thread that releases it: what is completed. A queue, a thread's start
/// or its end carries it to the thread that acquires it.
class HostToken {
 public:
  static HostToken release();
  void acquire() const;

 private:
  struct Knowledge;
  std::shared_ptr<const Knowledge> knowledge_;
};

/// The host reads or writes a pinned tensor through a raw pointer.
void hostReads(const at::Tensor& tensor);
void hostWrites(const at::Tensor& tensor);
/// From now on the CPU's operators count as reads and writes of the host. When no other thread
/// runs operators.
void watchCpuOperators();

/// How often the host waited for the device.
struct HostWaits {
  std::int64_t events = 0;
  std::int64_t streams = 0;
  std::int64_t devices = 0;  ///< emptyCache() is one, as on CUDA
  /// Blocking copies, item(), and operators whose result or its size the host must know: equal,
  /// nonzero, an index that is a mask. On CUDA all copies from and to memory that is not pinned.
  std::int64_t copies = 0;

  std::int64_t total() const { return events + streams + devices + copies; }
};
HostWaits hostWaits();
HostWaits hostWaitsOf(std::thread::id thread);
void resetHostWaits();

/// Bytes of a device. LibTorch's getDeviceStats() has them, too. They do not count what a
/// kernel uses while it runs.
std::int64_t deviceBytes(int device);
std::int64_t peakDeviceBytes(int device);
void resetPeakDeviceBytes(int device);

/// Allocations that would take the device over the limit throw c10::OutOfMemoryError.
void limitDeviceMemory(int device, std::int64_t bytes);
/// How many devices there are, up to kTestDevices.
void setTestDeviceCount(int count);
/// Called before each operator with its name and stream. It may throw, as an error of CUDA would.
void failOperators(std::function<void(const std::string& name, c10::Stream stream)> hook);
/// Called after each operator with the CPU time that its kernel took on the calling thread.
void timeOperators(std::function<void(c10::Stream stream, std::int64_t nanoseconds)> hook);
/// `recorded` gives the time of an event, after it was recorded on a stream. The others are called
/// with it, after a stream was made to wait for that event, and before the host waits for it.
/// `streamHeld`: a stream will be made to wait for one, and takes no work until then.
void followEvents(std::function<std::int64_t(c10::Stream stream)> recorded,
                  std::function<void(std::int64_t event, c10::Stream stream)> streamWaits,
                  std::function<void(std::int64_t event)> hostWaits,
                  std::function<void(c10::Stream stream)> streamHeld);
/// Whether a stream hangs: events that are recorded on it from now on never pass when they are
/// asked for. Its work is done nevertheless.
void hangStreams(std::function<bool(c10::Stream stream)> hook);
/// Gives the native handles of streams. Without it each stream has a pointer of its own.
void setStreamHandles(std::function<void*(c10::Stream stream)> hook);

/// A point of a stream that may not be enqueued yet.
struct LaterEvent {
  std::function<bool()> isThere;           ///< whether it is
  std::function<void()> await;             ///< waits on the host until it is; may throw instead
  std::function<void(c10::Stream)> block;  ///< once it is: makes the stream wait for it
};
/// Work that is enqueued on the stream from now on comes after that. The host goes on.
void blockLater(c10::Stream stream, LaterEvent event);

/// The next stream of the device's pool of 32. LibTorch's getNewStream() and
/// getStreamFromGlobalPool() hand out the same.
c10::Stream nextDeviceStream(int device = 0);
/// How many different ones were handed out since the last reset.
int streamsHandedOut(int device);

}  // namespace pipetrace
