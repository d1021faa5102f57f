#include "runtime/transport/message_line.h"

#include <ATen/ops/empty.h>
#include <c10/core/StreamGuard.h>

#include <cstdint>
#include <exception>
#include <utility>
#include <vector>

namespace pipetrace {

MessageLine::MessageLine(c10::intrusive_ptr<c10d::Backend> backend, RankDevice& device,
                         const c10::Stream& stream)
    : backend_(std::move(backend)), device_(device), stream_(stream) {}

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

/// NCCL takes what stands between startCoalescing() and endCoalescing() for one work. Outside of
/// them, c10d would make a communicator for each two ranks. With the line's stream current.
template <typename Issue>
void MessageLine::move(const at::Tensor& tensor, const Issue& issue) {
  const std::int64_t bytes = tensor.defined() ? static_cast<std::int64_t>(tensor.nbytes()) : 0;
  if (watch_ != nullptr) watch_->begins();
  if (bytes > 0) {
    std::vector<at::Tensor> tensors{tensor};
    backend_->startCoalescing();
    issue(tensors);
    backend_->endCoalescing()->wait();
  }
  if (watch_ != nullptr) watch_->ended(bytes);
}

void MessageLine::send(const Message& message, int to, int tag) {
  const c10::StreamGuard guard(stream_);
  if (message.made != nullptr && RankDevice::keeps(RankDevice::Order::kSend)) {
    message.made->block(stream_);
  }
  const at::Tensor tensor = message.tensor.defined() ? message.tensor.contiguous() : message.tensor;
  move(tensor, [&](std::vector<at::Tensor>& tensors) { backend_->send(tensors, to, tag); });
  // Whoever lets go of it does so behind that.
  if (message.bytes() > 0) message.tensor.record_stream(stream_);
}

MessageLine::Receiving MessageLine::receive(const TensorShape& shape, int from, int tag) {
  const c10::StreamGuard guard(stream_);
  Receiving receiving;
  if (shape.type != TensorShape::kNoTensor) {
    const c10::IntArrayRef sizes(shape.sizes.data(), static_cast<std::size_t>(shape.dimensions));
    receiving.tensor = at::empty(
        sizes,
        at::TensorOptions(static_cast<c10::ScalarType>(shape.type)).device(device_.device()));
  }
  move(receiving.tensor,
       [&](std::vector<at::Tensor>& tensors) { backend_->recv(tensors, from, tag); });
  if (receiving.tensor.defined()) receiving.made = RankDevice::record(stream_);
  return receiving;
}

Message MessageLine::arrived(const Receiving& receiving) {
  return {.tensor = device_.await(receiving.tensor, receiving.made.get(), stream_)};
}

void MessageLine::awaitAll() { DeviceEvent(stream_).synchronize(); }

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
void MessageLine::rethrow(int rank, const std::string& doing, int peer) const {
  try {
    throwIfAborted();
    throw;
  } catch (...) {
    rethrowAsPeerLost(rank, doing, peer);
  }
}

}  // namespace pipetrace
