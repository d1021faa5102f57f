#include "runtime/train/model/model_cut.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "trace/error.h"

namespace pipetrace {

namespace {

std::string listOf(const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
  return list.empty() ? "none" : list;
}

class Cutter {
 public:
  Cutter(const Model& model, const Partition& partition, int numStages)
      : model_(model), partition_(partition), numStages_(numStages) {}

  ModelCut cut() {
    requireFits(partition_, static_cast<int>(model_.blocks.size()), numStages_);
    spreadBlocks();
    nameTensors();
    connect();
    orderRoutes();
    for (StageCut& stage : cut_.stages) finish(stage);
    addTies();
    return std::move(cut_);
  }

 private:
  /// A tensor of the batch or of a block.
  struct Origin {
    int block = StageCut::kNone;  // kNone: of the batch
    int index = 0;                // in Model::batch, or in the block's outputs
    bool hasGradient = false;
  };
  static constexpr int kLoss = -2;

  void spreadBlocks() {
    int block = 0;
    cut_.stages.resize(static_cast<std::size_t>(numStages_));
    for (int s = 0; s < numStages_; ++s) {
      StageCut& stage = at(s);
      stage.firstBlock = block;
      stage.blocks.resize(static_cast<std::size_t>(partition_.blocks[static_cast<std::size_t>(s)]));
      stage.recomputed = partition_.recomputed(s);
      stageOf_.insert(stageOf_.end(), stage.blocks.size(), s);
      block += static_cast<int>(stage.blocks.size());
    }
    slotOf_.resize(cut_.stages.size());
  }

  void nameTensors() {
    for (std::size_t i = 0; i < model_.batch.size(); ++i) {
      name(model_.batch[i], {.index = static_cast<int>(i)}, "the batch");
    }
    std::set<std::string> names;
    for (std::size_t b = 0; b < model_.blocks.size(); ++b) {
      const Block& block = model_.blocks[b];
      const std::string who = blockName(model_, static_cast<int>(b));
      if (!names.insert(block.name).second) {
        throw Error(who + " has the name of a block before it");
      }
      if (!block.make) throw Error(who + " has nothing that makes it");
      for (std::size_t i = 0; i < block.outputs.size(); ++i) {
        name(block.outputs[i].name,
             {.block = static_cast<int>(b),
              .index = static_cast<int>(i),
              .hasGradient = block.outputs[i].hasGradient},
             who);
      }
    }
  }

  void name(const std::string& tensor, const Origin& origin, const std::string& who) {
    if (!origins_.emplace(tensor, origin).second) {
      throw Error(who + " makes a second tensor with the name " + tensor);
    }
  }

  void connect() {
    std::map<std::string, int> uses;  // blocks that need a tensor, the loss being one
    for (const Block& block : model_.blocks) {
      for (const std::string& input : std::set(block.inputs.begin(), block.inputs.end())) {
        ++uses[input];
      }
    }
    for (const std::string& input : std::set(model_.lossInputs.begin(), model_.lossInputs.end())) {
      ++uses[input];
    }
    for (std::size_t b = 0; b < model_.blocks.size(); ++b) {
      const auto block = static_cast<int>(b);
      const int s = stageOf_[b];
      StageCut::BlockSlots& slots = at(s).blocks[b - static_cast<std::size_t>(at(s).firstBlock)];
      for (const std::string& input : model_.blocks[b].inputs) {
        slots.inputs.push_back(slotFor(s, input, originFor(input, block)));
        slots.isShared.push_back(uses[input] > 1);
      }
      for (const BlockOutput& output : model_.blocks[b].outputs) {
        slots.outputs.push_back(slot(s, output.name));
        if (!output.hasGradient) fix(s, slots.outputs.back());
      }
    }
    for (const std::string& input : model_.lossInputs) {
      at(numStages_ - 1)
          .lossInputs.push_back(slotFor(numStages_ - 1, input, originFor(input, kLoss)));
    }
  }

  const Origin& originFor(const std::string& tensor, int user) const {
    const auto found = origins_.find(tensor);
    const int last = user == kLoss ? static_cast<int>(model_.blocks.size()) : user;
    if (found != origins_.end() && found->second.block < last) return found->second;
    std::vector<std::string> known = model_.batch;
    for (int b = 0; b < last; ++b) {
      for (const BlockOutput& output : model_.blocks[static_cast<std::size_t>(b)].outputs) {
        known.push_back(output.name);
      }
    }
    const std::string who = user == kLoss ? "the loss" : blockName(model_, user);
    throw Error(
        who + " needs the tensor " + tensor +
        ", which neither the batch has nor a block before it makes; there are: " + listOf(known));
  }

  int slot(int stage, const std::string& tensor) {
    const auto [found, isNew] =
        slotOf_[static_cast<std::size_t>(stage)].emplace(tensor, at(stage).numSlots);
    if (isNew) {
      ++at(stage).numSlots;
      at(stage).isFixed.push_back(false);
    }
    return found->second;
  }

  void fix(int stage, int slot) { at(stage).isFixed[static_cast<std::size_t>(slot)] = true; }

  /// The slot of a tensor that the stage needs, and the route or the place in the batch from which
  /// it comes.
  int slotFor(int stage, const std::string& tensor, const Origin& origin) {
    const bool isNew = !slotOf_[static_cast<std::size_t>(stage)].contains(tensor);
    const int own = slot(stage, tensor);
    if (!isNew) return own;
    if (origin.block == StageCut::kNone) {
      at(stage).batch.emplace_back(own, origin.index);
      fix(stage, own);
      return own;
    }
    const int from = stageOf_[static_cast<std::size_t>(origin.block)];
    if (from == stage) return own;
    fix(stage, own);
    links_.push_back({.from = from,
                      .to = stage,
                      .hasGradient = origin.hasGradient,
                      .fromSlot = slot(from, tensor),
                      .toSlot = own,
                      .block = origin.block});
    return own;
  }

  struct Link {
    int from = 0;
    int to = 0;
    bool hasGradient = true;
    int fromSlot = StageCut::kNone;
    int toSlot = StageCut::kNone;
    int block = StageCut::kNone;
  };

  void orderRoutes() {
    for (int s = 0; s + 1 < numStages_; ++s) {
      const bool isLinked = std::any_of(links_.begin(), links_.end(), [&](const Link& link) {
        return link.from == s && link.to == s + 1 && link.hasGradient;
      });
      // The plan has a message there, so it is sent empty.
      if (!isLinked) links_.push_back({.from = s, .to = s + 1});
    }
    std::stable_sort(links_.begin(), links_.end(), [](const Link& a, const Link& b) {
      return std::tie(a.from, a.to) < std::tie(b.from, b.to);
    });
    for (const Link& link : links_) {
      cut_.routes.push_back({link.from, link.to, link.hasGradient});
      at(link.from).outgoing.push_back({.slot = link.fromSlot,
                                        .hasGradient = link.hasGradient,
                                        .otherStage = link.to,
                                        .block = link.block});
      at(link.to).incoming.push_back({.slot = link.toSlot,
                                      .hasGradient = link.hasGradient,
                                      .otherStage = link.from,
                                      .block = link.block});
    }
  }

  static void finish(StageCut& stage) {
    for (std::size_t i = 0; i < stage.outgoing.size(); ++i) {
      if (stage.outgoing[i].hasGradient) stage.gradientOrder.push_back(static_cast<int>(i));
    }
    std::stable_sort(stage.gradientOrder.begin(), stage.gradientOrder.end(), [&](int a, int b) {
      return stage.outgoing[static_cast<std::size_t>(a)].otherStage >
             stage.outgoing[static_cast<std::size_t>(b)].otherStage;
    });
    if (stage.recomputed == 0) return;
    std::set<int> needed(stage.lossInputs.begin(), stage.lossInputs.end());
    std::set<int> made;
    for (auto b = static_cast<std::size_t>(stage.firstRecomputed()); b < stage.blocks.size(); ++b) {
      needed.insert(stage.blocks[b].inputs.begin(), stage.blocks[b].inputs.end());
      made.insert(stage.blocks[b].outputs.begin(), stage.blocks[b].outputs.end());
    }
    std::set_difference(needed.begin(), needed.end(), made.begin(), made.end(),
                        std::back_inserter(stage.boundary));
  }

  void addTies() {
    for (const std::vector<BlockParameter>& tie : model_.ties) {
      std::vector<TiedUse>& uses = cut_.ties.emplace_back();
      for (const BlockParameter& use : tie) {
        const auto found =
            std::find_if(model_.blocks.begin(), model_.blocks.end(),
                         [&](const Block& block) { return block.name == use.block; });
        if (found == model_.blocks.end()) {
          throw Error("the parameter " + use.parameter + " of the block " + use.block +
                      " is tied, but the model has no such block");
        }
        const auto block = static_cast<int>(found - model_.blocks.begin());
        uses.push_back({stageOf_[static_cast<std::size_t>(block)], block, use.parameter});
      }
    }
  }

  StageCut& at(int stage) { return cut_.stages[static_cast<std::size_t>(stage)]; }

  const Model& model_;
  const Partition& partition_;
  const int numStages_;
  ModelCut cut_;
  std::vector<int> stageOf_;  // by block
  std::map<std::string, Origin> origins_;
  std::vector<std::map<std::string, int>> slotOf_;  // by stage: by tensor
  std::vector<Link> links_;
};

}  // namespace

std::set<int> StageCut::slotsOfBlocks() const {
  std::set<int> slots;
  for (const BlockSlots& block : blocks) slots.insert(block.inputs.begin(), block.inputs.end());
  return slots;
}

ModelCut cutModel(const Model& model, const Partition& partition, int numStages) {
  return Cutter(model, partition, numStages).cut();
}

WorkFlow workFlowOf(const ModelCut& cut) {
  WorkFlow flow{.routes = cut.routes, .ties = {}};
  for (const std::vector<TiedUse>& uses : cut.ties) {
    std::vector<int>& stages = flow.ties.emplace_back();
    for (const TiedUse& use : uses) stages.push_back(use.stage);
  }
  return flow;
}

std::string blockName(const Model& model, int block) {
  return "block " + std::to_string(block) + " (" +
         model.blocks[static_cast<std::size_t>(block)].name + ")";
}

}  // namespace pipetrace
