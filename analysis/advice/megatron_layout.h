#pragma once

#include <string>
#include <vector>

namespace pipetrace {

/// A partition as Megatron-LM takes it.
struct MegatronLayout {
  std::string text;     ///< the option and its value, and what the value takes for granted
  std::string problem;  ///< why there is none; empty: there is one
};

/// The layout of stages with that many blocks each, in the order of the model. In a layout E is the
/// embedding, t a layer, m a layer that predicts several tokens ahead, and L the loss with the
/// head. E stands first and L last, once each.
///
/// `names` of the blocks say what they are. The first ones with "embed" in it are E. The last ones
/// with "head", "loss", "logits", "output" or "norm" are L, and those with "mtp" are m. All others
/// are layers. Where the first or the last block has no name, nothing says if it is a layer, so the
/// text has both layouts.
///
/// Source: PipelineParallelLayerLayout in megatron/core/transformer of Megatron-LM (main of
/// 2026-08-22).
MegatronLayout megatronLayout(const std::vector<int>& blocks,
                              const std::vector<std::string>& names);

}  // namespace pipetrace
