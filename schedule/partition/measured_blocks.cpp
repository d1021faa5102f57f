#include "schedule/partition/measured_blocks.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <string>

#include "schedule/partition/block_sums.h"
#include "schedule/partition/partition_file.h"
#include "trace/error.h"
#include "trace/text/number_text.h"

namespace pipetrace {
namespace {

using BlockTime = Nanoseconds BlockCosts::*;
using StageTime = Nanoseconds StageCosts::*;

Nanoseconds pairOf(const BlockCosts& block) { return block.forward + block.backward; }

/// Shares `whole` over the blocks from `first` to before `end` in proportion to `weightOf`. The
/// parts add up to it.
template <typename Weight>
void shareTime(Nanoseconds whole, int first, int end, const Weight& weightOf, StageTime time,
               std::vector<StageCosts>& blocks) {
  double all = 0;
  for (int block = first; block < end; ++block) all += weightOf(block);
  double sum = 0;
  Nanoseconds given = 0;
  for (int block = first; block < end; ++block) {
    sum += weightOf(block);
    const Nanoseconds upTo =
        block + 1 == end ? whole : std::llround(static_cast<double>(whole) * (sum / all));
    blocks[static_cast<std::size_t>(block)].*time = upTo - given;
    given = upTo;
  }
}

}  // namespace

void requireFits(const BlockPartition& partition, int numBlocks, int numStages) {
  const auto stages = static_cast<int>(partition.blocks.size());
  if (stages != numStages) {
    throw Error("the partition is for " + countText(stages, "stage") + ", but the plan has " +
                std::to_string(numStages));
  }
  for (int stage = 0; stage < numStages; ++stage) {
    const int blocks = partition.blocks[static_cast<std::size_t>(stage)];
    if (blocks < 1) {
      throw Error("the partition gives stage " + std::to_string(stage) + " no block");
    }
    if (partition.recomputedOf(stage) > blocks) {
      throw Error("more blocks of stage " + std::to_string(stage) + " run again than it has");
    }
  }
  const int sum = std::accumulate(partition.blocks.begin(), partition.blocks.end(), 0);
  if (sum != numBlocks) {
    throw Error("the partition adds up to " + countText(sum, "block") + ", but the model has " +
                std::to_string(numBlocks));
  }
}

MeasuredBlocks::MeasuredBlocks(const BlockTable& table, const BlockPartition& run,
                               const std::vector<StageCosts>& stages)
    : table_(table),
      run_(run),
      blocks_(table.blocks.size()),
      runsAgain_(table.blocks.size(), false) {
  requireFits(run, table.numBlocks(), static_cast<int>(stages.size()));
  share(stages);
  findRecomputes(stages);
  shareActivations(stages);
}

void MeasuredBlocks::share(const std::vector<StageCosts>& stages) {
  struct Column {
    StageTime of;
    BlockTime column;
    const char* name;
  };
  constexpr Column kColumns[] = {
      {&StageCosts::forward, &BlockCosts::forward, "forward_ms"},
      {&StageCosts::backward, &BlockCosts::backward, "backward_ms"},
      {&StageCosts::backwardInput, &BlockCosts::backwardInput, "backward_input_ms"},
      {&StageCosts::backwardWeight, &BlockCosts::backwardWeight, "backward_weight_ms"}};
  int first = 0;
  for (std::size_t s = 0; s < stages.size(); ++s) {
    const int end = first + run_.blocks[s];
    const auto blockAt = [&](int block) -> const BlockCosts& {
      return table_.blocks[static_cast<std::size_t>(block)];
    };
    for (const Column& column : kColumns) {
      const Nanoseconds whole = stages[s].*column.of;
      if (whole <= 0) continue;
      const auto weightOf = [&](int block) {
        return static_cast<double>(blockAt(block).*column.column);
      };
      double all = 0;
      for (int block = first; block < end; ++block) all += weightOf(block);
      if (all <= 0) {
        throw Error(std::string("the blocks of stage ") + std::to_string(s) + " have no " +
                    column.name + " in the table, but the stage of the run takes time for it");
      }
      shareTime(whole, first, end, weightOf, column.of, blocks_);
    }
    if (stages[s].forwardBackward >= 0) {
      shareTime(
          stages[s].forwardBackward, first, end,
          [&](int block) { return static_cast<double>(pairOf(blockAt(block)) + 1); },
          &StageCosts::forwardBackward, blocks_);
    }
    first = end;
  }
}

void MeasuredBlocks::findRecomputes(const std::vector<StageCosts>& stages) {
  double again = 0;
  double forwards = 0;
  int first = 0;
  for (std::size_t s = 0; s < stages.size(); ++s) {
    const int end = first + run_.blocks[s];
    const int known = run_.recomputedOf(static_cast<int>(s));
    const int begin = known > 0 ? end - known : first;
    if (stages[s].recompute > 0) {
      shareTime(
          stages[s].recompute, begin, end,
          [&](int block) {
            return static_cast<double>(blocks_[static_cast<std::size_t>(block)].forward) + 1;
          },
          &StageCosts::recompute, blocks_);
      again += static_cast<double>(stages[s].recompute);
      for (int block = begin; block < end; ++block) {
        runsAgain_[static_cast<std::size_t>(block)] = true;
        forwards += static_cast<double>(blocks_[static_cast<std::size_t>(block)].forward);
      }
    }
    first = end;
  }
  const double factor = forwards > 0 && again > 0 ? again / forwards : 1;
  for (std::size_t block = 0; block < blocks_.size(); ++block) {
    if (runsAgain_[block]) continue;
    blocks_[block].recompute = std::llround(static_cast<double>(blocks_[block].forward) * factor);
  }
}

void MeasuredBlocks::shareActivations(const std::vector<StageCosts>& stages) {
  if (!table_.hasMemory()) {
    std::int64_t held = 0;
    for (const StageCosts& stage : stages) held += stage.activation;
    shareTime(
        held, 0, table_.numBlocks(), [](int) { return 1.0; }, &StageCosts::activation, blocks_);
    return;
  }
  double held = 0;
  for (const StageCosts& stage : stages) {
    held += static_cast<double>(stage.activation - stage.recomputed);
  }
  double bytes = 0;
  unit_ = 1;
  for (const StageCosts& stage : this->stages(run_)) {
    bytes += static_cast<double>(stage.activation - stage.recomputed);
  }
  unit_ = bytes > 0 ? held / bytes : 0;
}

int MeasuredBlocks::runAgain(const BlockPartition& partition, int stage, int first) const {
  if (!partition.recomputed.empty()) return partition.recomputedOf(stage);
  const auto begin = runsAgain_.begin() + first;
  return static_cast<int>(
      std::count(begin, begin + partition.blocks[static_cast<std::size_t>(stage)], true));
}

std::vector<StageCosts> MeasuredBlocks::stages(const BlockPartition& partition) const {
  const auto numStages = static_cast<int>(partition.blocks.size());
  const BlockSums memory(table_, numStages);
  std::vector<StageCosts> all;
  int first = 0;
  for (int s = 0; s < numStages; ++s) {
    const int count = partition.blocks[static_cast<std::size_t>(s)];
    const int end = first + count;
    const int again = runAgain(partition, s, first);
    const StageCosts bytes = memory.stage(s, first, count, again);
    StageCosts& stage = all.emplace_back();
    stage.activation = std::llround(static_cast<double>(bytes.activation) * unit_);
    stage.freedByInput = std::llround(static_cast<double>(bytes.freedByInput) * unit_);
    stage.recomputed = std::llround(static_cast<double>(bytes.recomputed) * unit_);
    stage.message = bytes.message;
    const auto isFused = [](const StageCosts& costs) { return costs.forwardBackward >= 0; };
    if (std::all_of(blocks_.begin() + first, blocks_.begin() + end, isFused)) {
      stage.forwardBackward = 0;
    }
    for (int block = first; block < end; ++block) {
      const StageCosts& costs = blocks_[static_cast<std::size_t>(block)];
      stage.forward += costs.forward;
      stage.backward += costs.backward;
      stage.backwardInput += costs.backwardInput;
      stage.backwardWeight += costs.backwardWeight;
      if (isFused(stage)) stage.forwardBackward += costs.forwardBackward;
      if (block >= end - again) stage.recompute += costs.recompute;
      if (unit_ <= 0) stage.activation += costs.activation;
    }
    first = end;
  }
  return all;
}

BlockTable MeasuredBlocks::table() const {
  BlockTable table;
  for (std::size_t block = 0; block < blocks_.size(); ++block) {
    const StageCosts& costs = blocks_[block];
    const Nanoseconds again = runsAgain_[block] ? costs.recompute : 0;
    BlockCosts& to = table.blocks.emplace_back();
    to.forward = costs.forward;
    to.backward = costs.backward + again;
    to.backwardInput = costs.backwardInput + again;
    to.backwardWeight = costs.backwardWeight;
    if (runsAgain_[block]) continue;
    const BlockCosts& given = table_.blocks[block];
    const auto inUnits = [&](std::int64_t bytes) {
      return std::llround(static_cast<double>(bytes) * unit_);
    };
    to.activation = unit_ > 0 ? inUnits(given.activation) : costs.activation;
    to.freedByInput = inUnits(given.freedByInput);
    to.shared = inUnits(given.shared);
  }
  return table;
}

BlockPartition cutBlocks(const BlockPartition& run, int count) {
  const auto before = static_cast<int>(run.blocks.size());
  BlockPartition cut;
  if (count == before) return run;
  const auto even = [](int blocks, int stages, const std::string& what) {
    if (blocks < stages) {
      throw Error(what + " has " + countText(blocks, "block") + ", which " +
                  (blocks == 1 ? "is" : "are") + " too few for " + std::to_string(stages) +
                  " stages");
    }
    return evenBlocks(blocks, stages);
  };
  if (count > before && count % before == 0) {
    for (int stage = 0; stage < before; ++stage) {
      const std::vector<int> parts = even(run.blocks[static_cast<std::size_t>(stage)],
                                          count / before, "stage " + std::to_string(stage));
      cut.blocks.insert(cut.blocks.end(), parts.begin(), parts.end());
    }
  } else if (before % count == 0) {
    const int each = before / count;
    for (int stage = 0; stage < before; ++stage) {
      if (stage % each == 0) cut.blocks.push_back(0);
      cut.blocks.back() += run.blocks[static_cast<std::size_t>(stage)];
    }
  } else {
    cut.blocks = even(std::accumulate(run.blocks.begin(), run.blocks.end(), 0), count, "the model");
  }
  return cut;
}

}  // namespace pipetrace
