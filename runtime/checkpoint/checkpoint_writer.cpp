#include "runtime/checkpoint/checkpoint_writer.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>

#include <chrono>
#include <exception>
#include <map>
#include <tuple>
#include <utility>

#include "runtime/checkpoint/checkpoint_folder.h"
#include "trace/files/unfinished_files.h"
#include "trace/files/write_all.h"

namespace pipetrace {
namespace {

std::int64_t nanosecondsSince(std::chrono::steady_clock::time_point begin) {
  return std::chrono::nanoseconds(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

void Snapshot::take(const std::vector<BlockState>& states) {
  const at::NoGradGuard noGrad;
  std::map<std::tuple<int, std::optional<int>, std::string>, at::Tensor> buffers;
  for (BlockState& old : states_) {
    for (auto& [key, tensor] : old.tensors) {
      buffers.emplace(std::tuple(old.block, old.version, key), std::move(tensor));
    }
  }
  states_ = states;
  for (BlockState& state : states_) {
    for (auto& [key, tensor] : state.tensors) {
      at::Tensor& buffer = buffers[{state.block, state.version, key}];
      if (!buffer.defined() || buffer.sizes() != tensor.sizes() ||
          buffer.scalar_type() != tensor.scalar_type()) {
        buffer = at::empty(tensor.sizes(), at::TensorOptions(tensor.scalar_type()));
      }
      buffer.copy_(tensor);
      tensor = std::move(buffer);
    }
  }
}

std::int64_t Snapshot::bytes() const {
  std::int64_t bytes = 0;
  for (const BlockState& state : states_) bytes += bytesOf(state);
  return bytes;
}

CheckpointWriter::CheckpointWriter(std::string folder, Around around)
    : folder_(std::move(folder)), around_(std::move(around)) {
  const SignalsHeldBack heldBack;  // the thread inherits it
  thread_ = std::thread([this] { run(); });
}

CheckpointWriter::~CheckpointWriter() {
  giveUp_ = true;
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void CheckpointWriter::save(std::int64_t step, const std::vector<BlockState>& states) {
  wait();
  SavedBlocks saved{.step = step};
  const auto begin = std::chrono::steady_clock::now();
  snapshot_.take(states);
  saved.copyNs = nanosecondsSince(begin);
  saved.bytes = snapshot_.bytes();
  {
    const std::lock_guard lock(mutex_);
    current_ = std::move(saved);
    isBusy_ = true;
  }
  changed_.notify_all();
}

bool CheckpointWriter::isBusy() const {
  const std::lock_guard lock(mutex_);
  return isBusy_;
}

std::optional<SavedBlocks> CheckpointWriter::result() {
  const std::lock_guard lock(mutex_);
  if (results_.empty()) return std::nullopt;
  SavedBlocks oldest = std::move(results_.front());
  results_.pop_front();
  return oldest;
}

void CheckpointWriter::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !isBusy_; });
}

void CheckpointWriter::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return isBusy_ || ends_; });
    if (ends_) return;
    SavedBlocks saved = std::move(current_);
    lock.unlock();
    const auto begin = std::chrono::steady_clock::now();
    try {
      const auto writing = [&] { write(saved); };
      around_ ? around_(writing) : writing();
    } catch (const std::exception& e) {
      saved.error = e.what();
    }
    saved.writeNs = nanosecondsSince(begin);
    lock.lock();
    results_.push_back(std::move(saved));
    isBusy_ = false;
    changed_.notify_all();
  }
}

void CheckpointWriter::write(SavedBlocks& saved) {
  const std::string own = stepFolder(folder_, saved.step);
  makeFolder(own);
  for (const BlockState& state : snapshot_.states()) {
    saved.files.push_back(writeBlockFile(own, state, giveUp_));
  }
  syncFolder(own);
}

}  // namespace pipetrace
