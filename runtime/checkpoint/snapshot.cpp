#include "runtime/checkpoint/snapshot.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>

#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

namespace pipetrace {

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

}  // namespace pipetrace
