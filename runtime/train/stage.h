#pragma once

#include <torch/csrc/autograd/edge.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/stage_work.h"
#include "runtime/train/model/linear.h"
#include "runtime/train/model/model.h"
#include "runtime/train/model/model_cut.h"
#include "runtime/train/optimize/optimizer_maker.h"
#include "runtime/train/optimize/precision.h"

namespace pipetrace {

/// A stretch of a stage's blocks whose backward runs by itself. Where one follows another, the
/// tensors that it needs are cut off from the graph before it, and become leaves of its own.
struct StageSegment {
  int first = 0;  ///< its blocks, by their number in the stage: from here to before `end`
  int end = 0;
  int part = 0;  ///< of the stage's backward (Action::part)
  bool runsAgain = false;
  /// The slots of what it needs and does not make, ascending. The last segment has the loss, too.
  std::vector<int> boundary;
  /// By boundary: the segment before it to which the gradient goes, which has a leaf of that tensor
  /// or makes it.
  std::vector<int> givers;
};

/// The segments of a stage, in the order of its blocks. A gradient goes back from segment to
/// segment, each of which adds those of its blocks, the last ones first. So it is added up as it
/// would be in one graph.
struct StageSegments {
  std::vector<StageSegment> list;
  /// By outgoing route: the last segment that has a leaf of its tensor, or makes it. The gradient
  /// from the other stage comes in there.
  std::vector<int> ofOutgoing;

  /// The segments of a part: from `first` to before `end`.
  struct Range {
    int first = 0;
    int end = 0;
  };
  Range ofPart(int part) const;
};

/// Those of a stage whose backward has that many parts. Blocks that run again are segments of their
/// own. Throws Error for fewer blocks than parts. `stage` is the number of the stage, for that.
StageSegments segmentsOf(const StageCut& cut, int parts, int stage);

/// Makes a block of the model (by its number) with weights that depend on that and the seed alone.
/// Any thread, one call at a time; the others wait. Seeds LibTorch's default generator.
std::shared_ptr<BlockModule> makeBlock(const Model& model, int number, std::uint64_t seed);

/// The blocks of one stage, with their weights, and what it keeps of micro-batches between their
/// forward and their backward.
///
/// From the forward to the backward of a micro-batch a stage holds its inputs and what autograd has
/// saved, not its outputs. It holds only the inputs of blocks that run again, until they do.
///
/// Threads: one.
class Stage {
 public:
  /// Makes the blocks, with weights that depend on the seed and the block alone. `model` and `cut`
  /// must outlive it. Blocks and the loss compute in `precision`.
  Stage(const Model& model, const StageCut& cut, std::uint64_t seed,
        Precision precision = Precision::kFp32);

  /// Moves the weights to a device, before the first forward.
  void moveTo(c10::Device device);

  struct Forward {
    int step = 0;
    int microBatch = 0;
    const Tensors* batch = nullptr;  ///< of the micro-batch, by index in Model::batch
    double lossShare = 1;            ///< the loss is multiplied by it
    double lossScale = 1;            ///< the backward's gradients are, but not the loss
    bool keepsNothing = false;       ///< there is no backward
    bool predicts = false;           ///< the last stage has predictions() and no loss
    const std::vector<Metric>* metrics = nullptr;  ///< of the last stage; null: there are none
  };
  /// Throws Error that names the block if it fails, or makes another number of tensors than its
  /// definition says. Throws the same if a tensor has another type or shape than for the
  /// micro-batches before; only the number of rows may differ.
  void forward(const Forward& at, JobMessages messages);
  /// The loss of the last forward, on the last stage.
  const at::Tensor& loss() const { return loss_; }
  /// The metrics of the last forward, on the last stage.
  const Tensors& metrics() const { return metrics_; }
  /// The tensors of Model::lossInputs that blocks have made in it.
  const Tensors& predictions() const { return predictions_; }

  /// Begins to train, or to evaluate: puts the modules into that mode. Tensors may have other types
  /// and shapes than before.
  void beginUse(bool toTrain);

  /// Runs the blocks again that the forward keeps nothing of. A backward does it itself otherwise.
  void recompute(int microBatch);
  void backward(int microBatch, JobMessages messages);
  /// The halves of backward().
  void backwardInput(int microBatch, JobMessages messages);
  /// Returns whether there was anything to do.
  bool backwardWeight(int microBatch);

  /// Cuts the backwards of this stage, `number`, that a rank's row has in parts; all others are
  /// whole. Before their forwards. Throws Error as segmentsOf().
  void cutBackwards(const std::vector<Action>& row, int number);
  /// The parts of backward() and of backwardWeight(), in their order.
  void backwardPart(int microBatch, int part, JobMessages messages);
  bool backwardWeightPart(int microBatch, int part);

  /// Forgets all micro-batches.
  void clear() { live_.clear(); }
  /// Micro-batches of which it keeps something for a backward, or a half of it; ascending.
  std::vector<int> liveMicroBatches() const;

  /// By block of the model and name: {"3.weight", …}.
  NamedParameters namedParameters() const;
  std::vector<at::Tensor> parameters() const;
  std::vector<std::size_t> parameterCounts() const;  ///< how many of them each block has
  /// A parameter of a block of this stage. Throws Error if the block has none of that name.
  at::Tensor parameter(int block, const std::string& name) const;
  const StageCut& cut() const { return cut_; }
  const std::vector<std::shared_ptr<BlockModule>>& blocks() const { return blocks_; }

 private:
  /// A segment needs these, by boundary: as they were given, and as the leaves from which it
  /// starts.
  struct Entry {
    Tensors given;
    Tensors leaves;
  };
  struct Live {
    Forward at;
    const StageSegments* segments = nullptr;
    int parts = 1;
    Tensors incoming;            // leaves of this stage's own graph
    Tensors boundary;            // what the blocks that run again need
    std::vector<Entry> entries;  // by segment
    // Where the backward begins; by outgoing route. The outputs themselves are not kept.
    std::vector<torch::autograd::Edge> outgoing;
    torch::autograd::Edge loss;
    bool isRecomputed = false;
    Tensors gradients;  // that have come, by outgoing route
    // By part: what the input half has left.
    std::vector<std::unique_ptr<WeightHalf>> weights;
    bool isThrough = false;  // the input half has run
  };

  void runBlocks(int first, int last, const Forward& at, Tensors& slots) const;
  void runSegments(Live& live, bool again, Tensors& slots) const;
  static void enter(Live& live, std::size_t segment, Tensors& slots);
  at::Tensor lossOf(const Tensors& slots, const Forward& at) const;
  Tensors lossInputsIn(const Tensors& slots) const;
  void takeMetrics(const Tensors& slots, const std::vector<Metric>& metrics);
  void takePredictions(const Tensors& slots);
  void keepEdges(Live& live, const Tensors& slots) const;
  void requireSameShape(std::size_t route, const at::Tensor& output);
  Live& liveOf(int microBatch);
  const StageSegments& segmentsFor(int parts, int number);
  void takeGradients(Live& live, JobMessages messages) const;
  void giveGradients(const Live& live, JobMessages messages) const;
  void runPart(Live& live, int part) const;
  void propagate(Live& live, int segment) const;

  const Model& model_;
  const StageCut& cut_;
  const std::uint64_t seed_;
  const Precision precision_;
  c10::DeviceType device_ = c10::kCPU;
  std::vector<std::shared_ptr<BlockModule>> blocks_;
  std::map<int, StageSegments> segments_;  // by number of parts
  std::map<int, int> parts_;               // by micro-batch, of those in parts
  std::map<int, Live> live_;               // by micro-batch
  at::Tensor loss_;
  Tensors metrics_;
  Tensors predictions_;
  std::vector<std::optional<TensorShape>> shapes_;  // of the first output, by outgoing route
};

}  // namespace pipetrace
