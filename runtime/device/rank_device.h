#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/AutogradState.h>
#include <c10/core/Device.h>
#include <c10/core/Event.h>
#include <c10/core/Stream.h>
#include <c10/core/StreamGuard.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace pipetrace {

/// A point in the work of a stream: all that was queued on it until then. Other streams and the
/// host can wait for it.
///
/// Threads: one makes it, any may wait.
class DeviceEvent {
 public:
  /// The end of what is queued on `stream` now.
  explicit DeviceEvent(const c10::Stream& stream);

  const c10::Stream& stream() const { return stream_; }

  /// Work that is queued on `other` from now on runs after it. The host does not wait.
  void block(const c10::Stream& other) const;
  /// The host waits until the device is there.
  void synchronize() const { event_.synchronize(); }
  /// Whether the device is there.
  bool hasPassed() const { return event_.query(); }

 private:
  const c10::Stream stream_;
  c10::Event event_;
};

/// The device on which a rank computes, and the rank's streams there, through c10 alone. Work is
/// queued on streams: a rank's host runs ahead of its device, and streams wait for each other by
/// events.
///
/// A rank has a stream for its jobs, one for its data, and one for what it receives in each
/// direction. Transports add a stream for each of their lanes. Ranks that share a device have
/// streams of their own. CUDA hands out the 32 streams of a device in turn, so a rank that would
/// get one of another rank is refused.
///
/// Threads: the rank's own, which makes, uses and destroys it; unended() from any. The threads of
/// lanes use their streams.
class RankDevice {
 public:
  static constexpr int kStreamsOfRank = 4;
  /// The streams of a device, in the pools of CUDA's implementation.
  static constexpr int kStreamsOfDevice = 32;

  enum class Streams {
    kSeparate,
    kDefault,  ///< the device's default stream in place of all: nothing runs beside anything else
  };

  /// `ahead`: the host queues no job before the device has ended all but that many of those before.
  /// Throws Error for the CPU, a device that is not there, a device whose streams are taken, and
  /// less than one job ahead.
  RankDevice(c10::Device device, int ahead, Streams streams = Streams::kSeparate);
  ~RankDevice();
  RankDevice(const RankDevice&) = delete;
  RankDevice& operator=(const RankDevice&) = delete;

  c10::Device device() const { return device_; }
  const c10::Stream& compute() const { return streams_[0]; }
  const c10::Stream& data() const { return streams_[1]; }
  const c10::Stream& receives(bool forward) const { return streams_[forward ? 2 : 3]; }

  /// The stream on which messages run in line, made at the first call. Throws Error where there is
  /// none left.
  const c10::Stream& line();

  /// A stream for a lane, until the device is destroyed. Throws Error where there is none left.
  c10::Stream newStream();

  /// The end of what the rank's jobs have queued.
  std::shared_ptr<const DeviceEvent> record() const { return record(compute()); }
  static std::shared_ptr<const DeviceEvent> record(const c10::Stream& stream);

  /// Work that is queued on the compute stream from now on may read `tensor`. It is made when
  /// `made` has passed (null: it is there). Its memory is not used again before that work has
  /// ended. A tensor on another device is copied to this one, on `through`.
  at::Tensor await(const at::Tensor& tensor, const DeviceEvent* made,
                   const c10::Stream& through) const;
  /// The tensor on this device, copied on the data stream from pinned memory, without a wait of the
  /// host. For jobs that are queued after awaitCopies().
  at::Tensor copied(const at::Tensor& pinned) const;
  void awaitCopies() const;

  /// Waits until there is room for a job. The only wait of the host between `lr` and the optimizer
  /// of a step.
  void awaitRoom();
  /// A job was queued that ends with that event. `action`: its number, for unended().
  void queued(std::shared_ptr<const DeviceEvent> end, std::int64_t action = 0);
  /// The jobs that were queued and that the device has not ended: the number of the oldest, and how
  /// many. Any thread.
  std::pair<std::int64_t, std::uint64_t> unended() const;

  /// The waits that keep streams and memory in order. Tests leave out one at a time, and see that
  /// it is missed.
  enum class Order {
    kAll,            ///< nothing is left out
    kMessage,        ///< jobs wait for the messages that they need
    kMessageMemory,  ///< a message's memory is used again after the jobs that read it
    kCopy,           ///< a copy from another device waits for the message
    kCopyMemory,     ///< the message's memory is used again after that
    kSend,           ///< a message leaves on a line when it is made
    kBatch,          ///< jobs wait for the copy of the batch
    kBatchMemory,    ///< its memory is used again after the jobs that read it
    kRoom,           ///< the host is not too far ahead
    kToHost,         ///< a copy to the host waits for the message
    kToHostMemory,   ///< the message's memory is used again after that
    kOnHost,         ///< the host waits for that copy before it uses it
    kToDevice,       ///< jobs wait for the copy of a message that came to the host
  };
  static void leaveOut(Order one);
  static bool keeps(Order one);

  /// While it lives, the thread's work on the device goes to the compute stream. Its backwards run
  /// on the thread itself, so that their kernels are known as those of their job.
  class Current {
   public:
    explicit Current(const RankDevice& device);
    ~Current();
    Current(const Current&) = delete;
    Current& operator=(const Current&) = delete;

   private:
    const c10::StreamGuard stream_;
    const bool hadThreads_;
  };

 private:
  const std::size_t ahead_;
  const c10::Device device_;
  const bool hasOwnStreams_;
  int taken_ = 0;  // of the device's streams
  std::vector<c10::Stream> streams_;
  std::optional<c10::Stream> line_;
  struct Job {
    std::shared_ptr<const DeviceEvent> end;
    std::int64_t action = 0;
  };
  mutable std::mutex mutex_;
  std::deque<Job> jobs_;  // that may not have ended
};

/// The kind of device with that name: "cpu", or "cuda", for which LibTorch's library is loaded.
/// Call it before LibTorch's generators are used or seeded: they look for devices once. Throws
/// Error that says what is missing: the name, the library, a driver or a device.
c10::DeviceType openDevices(const std::string& name);

/// The device of the rank at that place: its number in a process that has all ranks as threads,
/// LOCAL_RANK in one that has a rank. `share`: several ranks may have one, in turn. Throws Error if
/// there are too few.
c10::Device deviceOfRank(c10::DeviceType type, int place, bool share);

}  // namespace pipetrace
