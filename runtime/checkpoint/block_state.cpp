#include "runtime/checkpoint/block_state.h"

#include <ATen/core/grad_mode.h>

#include <map>
#include <sstream>
#include <utility>

#include "trace/error.h"

namespace pipetrace {
namespace {

/// Parameters or buffers of a module, in its order.
NamedTensors tensorsOf(const torch::OrderedDict<std::string, at::Tensor>& items) {
  NamedTensors tensors;
  for (const auto& item : items) {
    if (item.value().defined()) tensors.emplace_back(item.key(), item.value());
  }
  return tensors;
}

/// A parameter as the optimizer has it; null: it does not.
const at::Tensor* optimizedOf(const LiveBlock& block, const std::string& name,
                              const at::Tensor& own) {
  if (block.optimized.empty()) return &own;
  const std::string full = std::to_string(block.block) + "." + name;
  for (const auto& [other, parameter] : block.optimized) {
    if (other == full) return &parameter;
  }
  return nullptr;
}

/// The tensors of `state` whose keys begin with `prefix`, without it.
NamedTensors under(const BlockState& state, const std::string& prefix) {
  NamedTensors found;
  for (const auto& [key, tensor] : state.tensors) {
    if (key.starts_with(prefix)) found.emplace_back(key.substr(prefix.size()), tensor);
  }
  return found;
}

const at::Tensor* tensorAt(const NamedTensors& tensors, const std::string& name) {
  for (const auto& [other, tensor] : tensors) {
    if (other == name) return &tensor;
  }
  return nullptr;
}

std::string typeAndShape(const at::Tensor& tensor) {
  std::ostringstream text;
  text << c10::getDtypeNames(tensor.scalar_type()).first << " " << tensor.sizes();
  return text.str();
}

/// Tensors of the checkpoint beside those of the model. `what`: "parameter" or "buffer".
void requireSame(const NamedTensors& saved, const NamedTensors& own, const std::string& what,
                 const std::string& who) {
  for (const auto& [name, tensor] : own) {
    const at::Tensor* const found = tensorAt(saved, name);
    if (found == nullptr) {
      throw Error(who + " has the " + what + " " + name + ", which the checkpoint lacks");
    }
    if (found->sizes() != tensor.sizes() || found->scalar_type() != tensor.scalar_type()) {
      throw Error("the " + what + " " + name + " of " + who + " is " + typeAndShape(tensor) +
                  ", and in the checkpoint " + typeAndShape(*found));
    }
  }
  for (const auto& [name, tensor] : saved) {
    if (tensorAt(own, name) == nullptr) {
      throw Error(who + " has no " + what + " " + name + ", which the checkpoint has");
    }
  }
}

/// Which parameters of a block its optimizer has, with what the checkpoint has of them.
struct OptimizedParameter {
  std::string name;
  at::Tensor parameter;
  NamedTensors state;
};
std::vector<OptimizedParameter> optimizedParameters(const BlockState& state,
                                                    const LiveBlock& block) {
  std::vector<OptimizedParameter> all;
  for (const auto& [name, own] : tensorsOf(block.module->named_parameters())) {
    const at::Tensor* const parameter = optimizedOf(block, name, own);
    NamedTensors saved = fieldsOf(state.tensors, name);
    if (parameter == nullptr) {
      if (saved.empty()) continue;
      throw Error("the parameter " + name + " of " + blockText(block.block, block.name) +
                  " has a state of the optimizer in the checkpoint, and here no optimizer");
    }
    all.push_back({name, *parameter, std::move(saved)});
  }
  return all;
}

void put(const NamedTensors& saved, const NamedTensors& own) {
  for (const auto& [name, tensor] : own) tensor.variable_data().copy_(*tensorAt(saved, name));
}

}  // namespace

std::string blockText(int block, const std::string& name) {
  return "block " + std::to_string(block) + " (" + name + ")";
}

BlockState stateOf(const LiveBlock& block) {
  BlockState state{.block = block.block, .name = block.name};
  const NamedTensors parameters = tensorsOf(block.module->named_parameters());
  for (const auto& [name, tensor] : parameters) {
    state.tensors.emplace_back(kParameterPrefix + name, tensor.variable_data());
  }
  for (const auto& [name, tensor] : tensorsOf(block.module->named_buffers())) {
    state.tensors.emplace_back(kBufferPrefix + name, tensor.variable_data());
  }
  if (block.optimizer == nullptr) return state;
  for (const auto& [name, own] : parameters) {
    const at::Tensor* const parameter = optimizedOf(block, name, own);
    if (parameter == nullptr) continue;
    for (auto& [field, tensor] : optimizerStateOf(*block.optimizer, *parameter)) {
      state.tensors.emplace_back(optimizerKey(name, field), std::move(tensor));
    }
  }
  return state;
}

BlockState versionState(int block, std::string name, int version, const NamedTensors& parameters) {
  BlockState state{.block = block, .name = std::move(name), .version = version};
  for (const auto& [parameter, tensor] : parameters) {
    state.tensors.emplace_back(kParameterPrefix + parameter, tensor.variable_data());
  }
  return state;
}

std::int64_t bytesOf(const BlockState& state) {
  std::int64_t bytes = 0;
  for (const auto& [key, tensor] : state.tensors)
    bytes += static_cast<std::int64_t>(tensor.nbytes());
  return bytes;
}

void requireFits(const BlockState& state, const LiveBlock& block) {
  const std::string who = blockText(block.block, block.name);
  if (state.name != block.name) {
    throw Error(who + " of the model is called " + state.name + " in the checkpoint");
  }
  requireSame(under(state, kParameterPrefix), tensorsOf(block.module->named_parameters()),
              "parameter", who);
  requireSame(under(state, kBufferPrefix), tensorsOf(block.module->named_buffers()), "buffer", who);
  if (block.optimizer == nullptr) return;
  for (const OptimizedParameter& one : optimizedParameters(state, block)) {
    requireStateFits(one.state, *block.optimizer, one.parameter,
                     "the parameter " + one.name + " of " + who);
  }
}

void restore(const std::vector<BlockState>& states, const std::vector<LiveBlock>& blocks) {
  std::map<int, const BlockState*> byBlock;
  for (const BlockState& state : states) {
    if (!state.version) byBlock[state.block] = &state;
  }
  for (const LiveBlock& block : blocks) {
    if (byBlock.count(block.block) == 0) {
      throw Error("the checkpoint has nothing of " + blockText(block.block, block.name));
    }
    requireFits(*byBlock[block.block], block);
  }
  const at::NoGradGuard noGrad;
  for (const LiveBlock& block : blocks) {
    const BlockState& state = *byBlock[block.block];
    put(under(state, kParameterPrefix), tensorsOf(block.module->named_parameters()));
    put(under(state, kBufferPrefix), tensorsOf(block.module->named_buffers()));
    if (block.optimizer == nullptr) continue;
    for (const OptimizedParameter& one : optimizedParameters(state, block)) {
      putOptimizerState(one.state, *block.optimizer, one.parameter);
    }
  }
}

}  // namespace pipetrace
