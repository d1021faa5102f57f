#include "runtime/costs/measure_costs.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

#include "runtime/costs/ranks_in_turn.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

/// One thread of LibTorch's for this one's operators, as ranks have it, and the default generator
/// as it was.
class AsOneRank {
 public:
  AsOneRank() { at::set_num_threads(1); }
  ~AsOneRank() {
    at::set_num_threads(threads_);
    generator_.set_state(state_);
  }
  AsOneRank(const AsOneRank&) = delete;
  AsOneRank& operator=(const AsOneRank&) = delete;

 private:
  const int threads_ = at::get_num_threads();
  at::Generator generator_ = at::detail::getDefaultCPUGenerator();
  const at::Tensor state_ = generator_.get_state();
};

/// How the plan runs backwards.
struct Backwards {
  bool areWhole = false;
  bool areHalves = false;
};

Backwards backwardsOf(const Plan& plan) {
  Backwards found;
  for (const auto& actions : plan.ranks) {
    for (const Action& action : actions) {
      found.areHalves = found.areHalves || action.kind == JobKind::kBackwardInput;
      found.areWhole = found.areWhole || action.kind == JobKind::kBackward ||
                       action.kind == JobKind::kForwardBackward;
    }
  }
  return found;
}

std::vector<std::vector<int>> stagesAlone(int numStages) {
  std::vector<std::vector<int>> stages;
  for (int stage = 0; stage < numStages; ++stage) stages.push_back({stage});
  return stages;
}

Nanoseconds timeOfClock() {
  return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Runs the jobs of a micro-batch, round after round.
class Measurement {
 public:
  Measurement(const TorchWorkOptions& options, const Batch& microBatch)
      : numStages_(options.partition.numStages()),
        recomputes_(!options.partition.recomputeRatio.empty()),
        ranks_(options, stagesAlone(numStages_), microBatch),
        stages_(static_cast<std::size_t>(numStages_)) {
    for (int stage = 0; stage < numStages_; ++stage) {
      StageCosts& costs = at(stage);
      costs.weights = ranks_.weights(stage);
      costs.blocks = options.partition.blocks[static_cast<std::size_t>(stage)];
    }
  }

  /// `counts`: not the first time, in which memory is made that stays.
  void run(bool inHalves, bool counts) {
    counts_ = counts;
    for (int stage = 0; stage < numStages_; ++stage) {
      ranks_.forgetMost(stage);
      before_[stage] = ranks_.held(stage);
      StageCosts& costs = at(stage);
      costs.recomputed = -run(JobKind::kForward, stage);
      costs.message = stage + 1 < numStages_ ? ranks_.sent(stage) : 0;
    }
    for (int stage = numStages_ - 1; stage >= 0; --stage) {
      StageCosts& costs = at(stage);
      costs.activation =
          recomputes_ ? run(JobKind::kRecompute, stage) : ranks_.held(stage) - before_[stage];
      costs.recomputed += costs.activation;
      if (inHalves) {
        costs.freedByInput = costs.activation - run(JobKind::kBackwardInput, stage);
        run(JobKind::kBackwardWeight, stage);
      } else {
        run(JobKind::kBackward, stage);
      }
      const std::int64_t working = ranks_.most(stage) - before_[stage] - costs.activation;
      if (counts) costs.working = std::max(costs.working, working);
    }
  }

  void update(bool counts) {
    counts_ = counts;
    for (int stage = 0; stage < numStages_; ++stage) {
      const std::int64_t before = ranks_.held(stage);
      time(JobKind::kOptimizer, stage, [&] { ranks_.update(stage); });
      state_[stage] += ranks_.held(stage) - before;
    }
  }

  const RepeatedTimes& times() const { return times_; }

  MeasuredCosts result() {
    MeasuredCosts measured;
    for (int stage = 0; stage < numStages_; ++stage) {
      StageCosts& costs = at(stage);
      costs.forward = timeOf(JobKind::kForward, stage);
      costs.backward = timeOf(JobKind::kBackward, stage);
      costs.backwardInput = timeOf(JobKind::kBackwardInput, stage);
      costs.backwardWeight = timeOf(JobKind::kBackwardWeight, stage);
      costs.recompute = timeOf(JobKind::kRecompute, stage);
      measured.optimizer.push_back(timeOf(JobKind::kOptimizer, stage));
      measured.updating.push_back(ranks_.gradients(stage) + state_[stage]);
    }
    measured.costs.stages = std::move(stages_);
    return measured;
  }

 private:
  StageCosts& at(int stage) { return stages_[static_cast<std::size_t>(stage)]; }

  /// Returns what the stage keeps after it, of this micro-batch.
  std::int64_t run(JobKind kind, int stage) {
    time(kind, stage, [&] { ranks_.run(stage, {.kind = kind, .stage = stage, .microBatch = 0}); });
    return ranks_.held(stage) - before_[stage];
  }
  template <typename Body>
  void time(JobKind kind, int stage, const Body& body) {
    const Nanoseconds begin = timeOfClock();
    body();
    if (counts_) times_.add({kind, stage}, timeOfClock() - begin);
  }
  Nanoseconds timeOf(JobKind kind, int stage) const { return times_.of({kind, stage}); }

  const int numStages_;
  const bool recomputes_;
  RanksInTurn ranks_;
  std::vector<StageCosts> stages_;
  std::map<int, std::int64_t> before_;  // by stage: held before the micro-batch
  std::map<int, std::int64_t> state_;   // by stage: of the optimizer
  RepeatedTimes times_;
  bool counts_ = false;
};

/// The time of a step's updates, on the slowest rank. In a plan without a flush an update is of one
/// stage.
Nanoseconds optimizerOf(const Plan& plan, const std::vector<Nanoseconds>& ofStage) {
  Nanoseconds most = 0;
  for (int rank = 0; rank < plan.numRanks(); ++rank) {
    Nanoseconds sum = 0;
    for (const int stage : plan.stagesOfRank(rank)) {
      const Nanoseconds one = ofStage[static_cast<std::size_t>(stage)];
      sum = plan.isAsynchronous() ? std::max(sum, one) : sum + one;
    }
    most = std::max(most, sum);
  }
  return most;
}

/// Stages of two blocks, from `first` on. One block may be before them, and one left behind them.
std::vector<int> pairsFrom(int first, int numBlocks) {
  std::vector<int> blocks(static_cast<std::size_t>(first), 1);
  for (int block = first; block < numBlocks; block += 2) {
    blocks.push_back(std::min(2, numBlocks - block));
  }
  return blocks;
}

/// A tensor that two neighbours keep, each of them alone, is there once where they are a stage.
void addShared(BlockTable& table, TorchWorkOptions options, const Batch& microBatch) {
  for (const int offset : {0, 1}) {
    const std::vector<int> stages = pairsFrom(offset, table.numBlocks());
    if (std::find(stages.begin(), stages.end(), 2) == stages.end()) continue;
    options.partition = {.blocks = stages};
    const MeasuredCosts measured = measureStages(
        options, microBatch, {.wholeBackwards = false, .halves = true, .wanted = {.rounds = 0}});
    std::size_t block = 0;
    for (std::size_t stage = 0; stage < stages.size(); ++stage) {
      if (stages[stage] == 2) {
        const StageCosts& both = measured.costs.stages[stage];
        BlockCosts& first = table.blocks[block];
        const std::int64_t alone = first.activation + table.blocks[block + 1].activation;
        first.shared = std::max<std::int64_t>(0, alone - both.activation);
      }
      block += static_cast<std::size_t>(stages[stage]);
    }
  }
}

}  // namespace

MeasuredCosts measureStages(TorchWorkOptions options, const Batch& microBatch,
                            const MeasureOptions& how) {
  constexpr int kBetweenUpdates = 4;  // they take long, and are not what is waited for
  const AsOneRank asOneRank;
  options.numMicroBatches = 1;
  Measurement measurement(options, microBatch);
  const auto run = [&](int round) {
    const bool counts = round > 0;
    if (how.halves) measurement.run(/*inHalves=*/true, counts);
    if (how.wholeBackwards) measurement.run(/*inHalves=*/false, counts);
    if (round == 0 || round % kBetweenUpdates == 1) measurement.update(counts);
  };
  repeatRounds(how.wanted, timeOfClock, run, measurement.times());
  return measurement.result();
}

MeasuredCosts measureCosts(TorchWorkOptions options, const Plan& plan, const Batch& microBatch,
                           const RoundsWanted& wanted) {
  const Backwards backwards = backwardsOf(plan);
  if (!backwards.areWhole && !backwards.areHalves) {
    throw Error("the plan " + plan.name + " has no backward pass, so no training can be measured");
  }
  MeasuredCosts measured = measureStages(
      std::move(options), microBatch,
      {.wholeBackwards = backwards.areWhole, .halves = backwards.areHalves, .wanted = wanted});
  measured.costs.optimizer = optimizerOf(plan, measured.optimizer);
  return measured;
}

BlockTable measureBlocks(TorchWorkOptions options, const Batch& microBatch,
                         const RoundsWanted& wanted) {
  options.partition = {.blocks = std::vector<int>(options.model.blocks.size(), 1)};
  BlockTable table;
  for (const Block& block : options.model.blocks) table.blocks.push_back({.name = block.name});
  const MeasuredCosts measured =
      measureStages(options, microBatch, {.halves = true, .wanted = wanted});
  for (std::size_t i = 0; i < table.blocks.size(); ++i) {
    const StageCosts& stage = measured.costs.stages[i];
    BlockCosts& block = table.blocks[i];
    block.forward = stage.forward;
    block.backward = stage.backward;
    block.backwardInput = stage.backwardInput;
    block.backwardWeight = stage.backwardWeight;
    block.optimizer = measured.optimizer[i];
    block.activation = stage.activation;
    block.freedByInput = stage.freedByInput;
    block.working = stage.working;
    block.message = stage.message;
    block.parameters = stage.weights;
    block.updating = measured.updating[i];
  }
  addShared(table, std::move(options), microBatch);
  return table;
}

}  // namespace pipetrace
