#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "schedule/costs.h"
#include "schedule/plan.h"

namespace pipetrace {

/// The costs of a block of a model, alone on a stage. Times are those of one micro-batch, in ns,
/// and memory is in bytes.
struct BlockCosts {
  std::string name = {};  ///< for people; may be empty
  Nanoseconds forward = 0;
  Nanoseconds backward = 0;       ///< the whole backward pass
  Nanoseconds backwardInput = 0;  ///< the halves, where a plan splits it
  Nanoseconds backwardWeight = 0;
  Nanoseconds optimizer = 0;  ///< the update of its weights

  std::int64_t activation = 0;    ///< from its forward to the end of its backward, its input too
  std::int64_t freedByInput = 0;  ///< as StageCosts has it
  /// The part of it that the next block's activation has, too. A stage with both has it once. The
  /// input half gives it back. Mostly it is the tensor between them. The last block has none.
  std::int64_t shared = 0;
  std::int64_t working = 0;     ///< beside that, while its backward runs
  std::int64_t message = 0;     ///< its output, which is the input of the next block
  std::int64_t parameters = 0;  ///< one version of its weights, and its buffers
  std::int64_t updating = 0;    ///< gradients and the optimizer's state: once, however many
                                ///< versions of the weights there are
};

/// The blocks of a model in their order, and what does not depend on them.
struct BlockTable {
  std::vector<BlockCosts> blocks = {};
  Nanoseconds transfer = 0;  ///< as Costs has them
  Nanoseconds lr = 0;
  double bandwidth = 0;

  int numBlocks() const { return static_cast<int>(blocks.size()); }
  /// Whether memory is known.
  bool hasMemory() const {
    return std::any_of(blocks.begin(), blocks.end(), [](const BlockCosts& block) {
      return block.activation > 0 || block.parameters > 0;
    });
  }
};

/// A model cut into the stages of a plan.
struct BlockPartition {
  std::vector<int> blocks = {};      ///< of each stage, at least one
  std::vector<int> recomputed = {};  ///< of each stage: its last blocks that run again; empty: none

  int recomputedOf(int stage) const {
    return recomputed.empty() ? 0 : recomputed[static_cast<std::size_t>(stage)];
  }
};

/// The costs of the stages of `plan`. Times and memory of a stage are the sums of its blocks', less
/// what neighbours among them share. Its message is that of its last block, its working memory the
/// most of any block. Blocks that run again keep the input of their first one, the message of the
/// block before it. Gradients and the optimizer's state count once, however many versions of the
/// weights a plan without a flush keeps.
///
/// `partition` must fit the plan's stages and the table's blocks.
Costs costsOf(const BlockTable& table, const Plan& plan, const BlockPartition& partition);

/// The plan in which the stages with such blocks run them again. A forward-only plan stays as it
/// is.
Plan withRecompute(const Plan& plan, const BlockPartition& partition);

}  // namespace pipetrace
