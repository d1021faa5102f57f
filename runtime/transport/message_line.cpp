#include "runtime/transport/message_line.h"

#include <ATen/ops/empty.h>
#include <c10/core/StreamGuard.h>

#include <exception>
#include <utility>

namespace pipetrace {

MessageLine::MessageLine(c10::intrusive_ptr<c10d::Backend> backend, RankDevice& device,
                         int microBatches)
    : backend_(std::move(backend)),
      device_(device.device()),
      sends_(device.newStream()),
      receives_{device.receives(true), device.receives(false)},
      rows_{.microBatches = microBatches} {}

MessageLine::~MessageLine() {
  if (aborting_.joinable()) {
    aborting_.join();
    return;
  }
  try {
    backend_->shutdown();
  } catch (...) {
    // The run has ended, and nobody waits for a message.
  }
}

void MessageLine::beginStep(int step, std::int64_t rows) {
  if (!hasBegun_) firstStep_ = step;
  hasBegun_ = true;
  rows_.rows = rows;
}

/// NCCL takes what stands between these calls for one work. Outside of them, c10d would make a
/// communicator for each two ranks.
template <typename Issue>
MessageLine::WorkPtr MessageLine::issue(const at::Tensor& tensor, const Issue& issue) {
  std::vector<at::Tensor> tensors{tensor};
  backend_->startCoalescing();
  issue(tensors);
  return backend_->endCoalescing();
}

MessageLine::WorkPtr MessageLine::send(const Message& message, int to, int tag) {
  const c10::StreamGuard guard(sends_);
  if (message.made != nullptr && RankDevice::keeps(RankDevice::Order::kSend)) {
    message.made->block(sends_);
  }
  const at::Tensor tensor = message.tensor.contiguous();
  message.tensor.record_stream(sends_);
  return issue(tensor, [&](std::vector<at::Tensor>& tensors) { backend_->send(tensors, to, tag); });
}

MessageLine::Receiving MessageLine::receive(const TensorShape& shape, bool forward, int from,
                                            int tag) {
  if (shape.type == TensorShape::kNoTensor) return {};
  const c10::StreamGuard guard(receives(forward));
  const c10::IntArrayRef sizes(shape.sizes.data(), static_cast<std::size_t>(shape.dimensions));
  Receiving receiving{.forward = forward};
  receiving.tensor =
      at::empty(sizes, at::TensorOptions(static_cast<c10::ScalarType>(shape.type)).device(device_));
  if (receiving.tensor.numel() == 0) return receiving;
  receiving.work = issue(receiving.tensor, [&](std::vector<at::Tensor>& tensors) {
    backend_->recv(tensors, from, tag);
  });
  return receiving;
}

Message MessageLine::arrived(Receiving&& receiving) {
  const c10::Stream& stream = receives(receiving.forward);
  const c10::StreamGuard guard(stream);
  if (receiving.work) receiving.work->wait();
  return {.tensor = std::move(receiving.tensor), .made = RankDevice::record(stream)};
}

bool MessageLine::letGo(const WorkPtr& sent) const {
  if (!sent->isCompleted()) return false;
  const c10::StreamGuard guard(sends_);
  sent->wait();
  return true;
}

void MessageLine::awaitSent(const std::vector<WorkPtr>& works) {
  const c10::StreamGuard guard(sends_);
  for (const WorkPtr& work : works) {
    if (work) work->wait();
  }
  DeviceEvent(sends_).synchronize();
}

void MessageLine::abort(const std::string& reason) noexcept {
  const std::lock_guard lock(mutex_);
  if (isAborted_.load()) return;
  abortReason_ = reason.empty() ? "it was stopped" : reason;
  isAborted_.store(true);
  try {
    aborting_ = std::thread([backend = backend_] {
      try {
        backend->abort();
      } catch (...) {
        // The works that it was to end have failed by themselves.
      }
    });
  } catch (...) {
    // There is no thread to be had: the process is ended by the control channel.
  }
}

void MessageLine::throwIfAborted() const {
  if (!isAborted_.load()) return;
  const std::lock_guard lock(mutex_);
  throw Error(abortReason_);
}

/// After abort() everything that goes wrong does so because of it.
void MessageLine::rethrow(const std::string& doing, int peer) const {
  try {
    throwIfAborted();
    throw;
  } catch (...) {
    rethrowAsGivenUp(rank(), doing, peer);
  }
}

}  // namespace pipetrace
