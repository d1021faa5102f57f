#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Stream.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <torch/csrc/distributed/c10d/Backend.hpp>

#include "runtime/device/rank_device.h"
#include "runtime/errors/error_text.h"
#include "runtime/lanes/message_header.h"
#include "runtime/transport/message.h"
#include "trace/error.h"

namespace pipetrace {

/// Messages of a rank on a device, which a c10d backend moves one after the other in the order of
/// these calls. No wait of the host: works block the stream of the line.
///
/// Threads: the compute thread; abort() from any.
class MessageLine {
 public:
  /// `stream`: of the line. `device` must outlive it.
  MessageLine(c10::intrusive_ptr<c10d::Backend> backend, RankDevice& device,
              const c10::Stream& stream);
  /// Ends the backend. After abort() it waits for the end of that.
  ~MessageLine();
  MessageLine(const MessageLine&) = delete;
  MessageLine& operator=(const MessageLine&) = delete;

  /// Null: nobody watches it.
  void useWatch(LineWatch* watch) { watch_ = watch; }

  /// The message leaves when it is made, and the line has come to it.
  void send(const Message& message, int to, int tag);
  /// A receive that is under way.
  struct Receiving {
    at::Tensor tensor;  ///< undefined, if that is the message
    std::shared_ptr<const DeviceEvent> made;
  };
  /// The tensor is memory of LibTorch's allocator on the line's stream. So the memory of a tensor
  /// that is let go is used again in the order of the streams, as with any other tensor. A ring of
  /// buffers would be as long as the most messages on their way, and kept between steps.
  Receiving receive(const TensorShape& shape, int from, int tag);
  /// The message, for jobs that are queued from now on.
  Message arrived(const Receiving& receiving);
  /// Waits until all messages so far have been moved.
  void awaitAll();

  /// Ends all works, on a thread of its own: a backend may take its time.
  void abort(const std::string& reason) noexcept;

  /// Runs `action`. Its exceptions become those of a lane (rethrowAsPeerLost()) of `rank`. `doing`
  /// gives the text. After abort() it throws Error with that reason.
  template <typename Text, typename Action>
  auto guarded(int rank, const Text& doing, int peer, const Action& action) const {
    try {
      throwIfAborted();
      return action();
    } catch (...) {
      rethrow(rank, doing(), peer);
    }
  }

 private:
  void throwIfAborted() const;
  [[noreturn]] void rethrow(int rank, const std::string& doing, int peer) const;
  template <typename Issue>
  void move(const at::Tensor& tensor, const Issue& issue);

  const c10::intrusive_ptr<c10d::Backend> backend_;
  RankDevice& device_;
  const c10::Stream stream_;
  LineWatch* watch_ = nullptr;
  std::atomic<bool> isAborted_ = false;
  mutable std::mutex mutex_;
  std::string abortReason_;
  std::thread aborting_;
};

}  // namespace pipetrace
