#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "runtime/program/rank_program.h"
#include "runtime/program/tensor_routes.h"
#include "runtime/train/model/model.h"
#include "schedule/partition/partition_file.h"

namespace pipetrace {

/// A stage of a model: which blocks it runs, and where their tensors are. The tensors of a stage
/// have slots, numbered from 0.
struct StageCut {
  static constexpr int kNone = -1;

  struct BlockSlots {
    std::vector<int> inputs;
    std::vector<int> outputs;
    /// By input: whether other blocks of the model need the tensor, too.
    std::vector<bool> isShared;
  };
  /// A tensor of a route.
  struct End {
    int slot = kNone;  ///< kNone: the route's messages are empty
    bool hasGradient = true;
    int otherStage = 0;
    int block = kNone;  ///< outgoing: the block of the model that makes it
  };

  int firstBlock = 0;  ///< of the model
  std::vector<BlockSlots> blocks;
  int recomputed = 0;  ///< this number of blocks, the last ones, runs again, and so does the loss
  int numSlots = 0;
  /// By slot: whether no block may change the tensor in place. It has no gradient, or another stage
  /// makes it: then others may have the same memory.
  std::vector<bool> isFixed;
  std::vector<std::pair<int, int>> batch;  ///< slot, index in Model::batch
  std::vector<End> incoming;               ///< by route
  std::vector<End> outgoing;
  std::vector<int> lossInputs;  ///< slots; of the last stage
  /// Slots of tensors that the recomputed blocks need and do not make, ascending.
  std::vector<int> boundary;
  /// Outgoing routes with a gradient, those to the furthest stages first: as autograd adds them up
  /// in one process.
  std::vector<int> gradientOrder;

  /// The slots that its blocks need.
  std::set<int> slotsOfBlocks() const;
  int firstRecomputed() const { return static_cast<int>(blocks.size()) - recomputed; }
};

/// A parameter of one stage that is tied to others.
struct TiedUse {
  int stage = 0;
  int block = 0;  ///< of the model
  std::string parameter;
};

/// A model, cut into the stages of a pipeline.
struct ModelCut {
  std::vector<StageCut> stages;
  TensorRoutes routes;
  std::vector<std::vector<TiedUse>> ties;
};

/// Throws Error that names the block if nothing before it makes a tensor that it needs, or if two
/// things have one name. Throws Error if a tie names a block that is not there, and if the
/// partition does not fit.
ModelCut cutModel(const Model& model, const Partition& partition, int numStages);

/// The stages add this to a plan.
WorkFlow workFlowOf(const ModelCut& cut);

/// "block 3 (attention)", for messages to people.
std::string blockName(const Model& model, int block);

}  // namespace pipetrace
