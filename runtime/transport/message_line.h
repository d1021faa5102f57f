#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Stream.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <vector>

#include "runtime/device/rank_device.h"
#include "runtime/lanes/tensor_shape.h"
#include "runtime/micro_batch_rows.h"
#include "runtime/transport/given_up.h"
#include "runtime/transport/message.h"
#include "trace/error.h"

namespace pipetrace {

/// The messages of a rank on a device, which a c10d backend moves one after the other in the order
/// of these calls. No wait of the host: works block a stream.
///
/// Sends wait for their jobs on a stream of the line, one for all lanes. More would change nothing:
/// there a message waits only for messages that the line has before it anyway. Receives are waited
/// for on the rank's streams for them, where their times are taken.
///
/// Threads: the compute thread; abort() from any.
class MessageLine {
 public:
  using WorkPtr = c10::intrusive_ptr<c10d::Work>;

  /// Takes a stream of the device, which must outlive it. Throws Error where there is none left.
  MessageLine(c10::intrusive_ptr<c10d::Backend> backend, RankDevice& device, int microBatches);
  /// Ends the backend. After abort() it waits for the end of that.
  ~MessageLine();
  MessageLine(const MessageLine&) = delete;
  MessageLine& operator=(const MessageLine&) = delete;

  int rank() const { return backend_->getRank(); }

  /// Forgets the steps of an executor that has ended.
  void startOver() { hasBegun_ = false; }
  /// Opens a step. In the first one messages go over the host, and their shapes become known.
  void beginStep(int step, std::int64_t rows);
  bool isFirstStep(int step) const { return !hasBegun_ || step == firstStep_; }
  std::int64_t rowsOf(int microBatch) const { return rows_.countOf(microBatch); }

  /// The message leaves when it is made, and the line has come to it.
  WorkPtr send(const Message& message, int to, int tag);
  /// A receive that is under way.
  struct Receiving {
    bool forward = true;
    at::Tensor tensor;  ///< undefined, if that is the message
    WorkPtr work;       ///< null where no byte has to move
  };
  /// The tensor is memory of LibTorch's allocator on the stream for receives. So the memory of a
  /// tensor that is let go is used again in the order of the streams, as with any other tensor. A
  /// ring of buffers would be as long as the most messages on their way, and kept between steps.
  Receiving receive(const TensorShape& shape, bool forward, int from, int tag);
  /// The message, which is there when Message::made has passed.
  Message arrived(Receiving&& receiving);
  /// Lets go of the tensor of a send that is done on the device. Returns whether it is.
  bool letGo(const WorkPtr& sent) const;
  /// Waits until these are done on the device.
  void awaitSent(const std::vector<WorkPtr>& works);

  /// Ends all works, on a thread of its own: a backend may take its time.
  void abort(const std::string& reason) noexcept;

  /// Runs `action`. Its exceptions become those of a lane (rethrowAsGivenUp()). `doing` gives the
  /// text. After abort() it throws Error with that reason.
  template <typename Text, typename Action>
  auto guarded(const Text& doing, int peer, const Action& action) const {
    try {
      throwIfAborted();
      return action();
    } catch (...) {
      rethrow(doing(), peer);
    }
  }

 private:
  void throwIfAborted() const;
  [[noreturn]] void rethrow(const std::string& doing, int peer) const;
  const c10::Stream& receives(bool forward) const { return receives_[forward ? 0 : 1]; }
  template <typename Issue>
  WorkPtr issue(const at::Tensor& tensor, const Issue& issue);

  const c10::intrusive_ptr<c10d::Backend> backend_;
  const c10::Device device_;
  const c10::Stream sends_;
  const std::array<c10::Stream, 2> receives_;  // forward, backward
  MicroBatchRows rows_;
  bool hasBegun_ = false;
  int firstStep_ = 0;
  std::atomic<bool> isAborted_ = false;
  mutable std::mutex mutex_;
  std::string abortReason_;
  std::thread aborting_;
};

}  // namespace pipetrace
