#pragma once

#include <torch/nn/module.h>
#include <torch/optim/optimizer.h>

#include <optional>
#include <string>
#include <vector>

#include "runtime/checkpoint/optimizer_state.h"
#include "runtime/train/optimize/optimizer_maker.h"

namespace pipetrace {

/// The part of a checkpoint that is one block of a model: its tensors by key.
///
///     parameters.NAME              NAME as in the module: "weight", "attention.out.bias"
///     buffers.NAME
///     optimizer.NAME.FIELD         what the optimizer keeps of parameter NAME (optimizerStateOf())
///
/// Equal trainings have equal keys in equal order, whichever stage has the block. Options of the
/// optimizer (learning rate, weight decay) are none of it: the program that goes on makes them.
struct BlockState {
  int block = 0;     ///< its number in the model
  std::string name;  ///< Block::name
  /// nullopt: the newest weights, buffers and the optimizer's state. Else parameters alone, of an
  /// older version that a plan without a flush still needs, by the plan's number.
  std::optional<int> version;
  NamedTensors tensors;
};

/// A block in training: where its tensors are taken from, and where they are put back. Owns
/// nothing.
struct LiveBlock {
  int block = 0;
  std::string name;
  torch::nn::Module* module = nullptr;
  torch::optim::Optimizer* optimizer = nullptr;  ///< null: weights and buffers alone
  /// The parameters as the optimizer has them, named as OptimizerMaker gets them ("3.weight");
  /// those of other blocks are passed over. Empty: the optimizer has the module's own. Weight
  /// versions have an optimizer over parameters of its own (WeightStash).
  NamedParameters optimized;
};

/// The tensors themselves, no copies. Throws Error for an optimizer that cannot be saved.
BlockState stateOf(const LiveBlock& block);
/// An older version of a block's parameters, by their names in the module.
BlockState versionState(int block, std::string name, int version, const NamedTensors& parameters);

/// The memory of the tensors, in bytes.
std::int64_t bytesOf(const BlockState& state);

/// Throws Error, which names block and parameter, if restore() would not find a place for each
/// tensor, or a tensor for each place. Changes nothing. The optimizer's state may be missing as a
/// whole: the checkpoint of a model without an optimizer.
void requireFits(const BlockState& state, const LiveBlock& block);

/// Puts the weights, buffers and optimizer's states of a checkpoint back, by number of the block.
/// First checks all of them by requireFits(): an Error comes before any weight is changed. Throws
/// it, too, for a block without a state. Weights and buffers are changed in place, so there must be
/// no micro-batch in flight. Optimizers forget the states that they had before. `states`: those of
/// other blocks, and versions, are passed over.
void restore(const std::vector<BlockState>& states, const std::vector<LiveBlock>& blocks);

/// "block 3 (embed)"
std::string blockText(int block, const std::string& name);

// The keys of a block's tensors (BlockState).
inline const std::string kParameterPrefix = "parameters.";
inline const std::string kBufferPrefix = "buffers.";
inline const std::string kOptimizerPrefix = "optimizer.";

inline std::string optimizerKey(const std::string& parameter, const std::string& field) {
  return kOptimizerPrefix + parameter + "." + field;
}

/// The optimizer's state of a parameter, by field. Fields have no dots, so that parameter "a"
/// has nothing of parameter "a.b".
inline NamedTensors fieldsOf(const NamedTensors& byKey, const std::string& parameter) {
  NamedTensors fields;
  const std::string prefix = optimizerKey(parameter, "");
  for (const auto& [key, tensor] : byKey) {
    if (!key.starts_with(prefix)) continue;
    std::string field = key.substr(prefix.size());
    if (field.find('.') == std::string::npos) fields.emplace_back(std::move(field), tensor);
  }
  return fields;
}

}  // namespace pipetrace
