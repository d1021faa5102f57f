#include "schedule/partition/partition_walk.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace pipetrace {
namespace {

/// Excess and bound of the worst stage.
using Worst = std::pair<std::int64_t, Nanoseconds>;

Worst worseOf(const Worst& a, const Worst& b) {
  return {std::max(a.first, b.first), std::max(a.second, b.second)};
}

/// Whether a block can go from a stage to another.
bool canMove(const std::vector<int>& blocks, int from) {
  return blocks[static_cast<std::size_t>(from)] > 1;
}

std::vector<int> blockMoved(std::vector<int> blocks, int from, int to) {
  --blocks[static_cast<std::size_t>(from)];
  ++blocks[static_cast<std::size_t>(to)];
  return blocks;
}

/// Stages, those with most work first.
std::vector<int> byWork(const PartitionModel& model, const BlockPartition& partition) {
  std::vector<Nanoseconds> work;
  int first = 0;
  for (int stage = 0; stage < model.numStages(); ++stage) {
    const int count = partition.blocks[static_cast<std::size_t>(stage)];
    work.push_back(model.work(stage, first, count, partition.recomputedOf(stage)));
    first += count;
  }
  std::vector<int> stages(work.size());
  std::iota(stages.begin(), stages.end(), 0);
  std::stable_sort(stages.begin(), stages.end(), [&](int a, int b) {
    return work[static_cast<std::size_t>(a)] > work[static_cast<std::size_t>(b)];
  });
  return stages;
}

/// Replaces `best` by a better partition in which one block has blockMoved. Returns false if none
/// is.
bool moveBlock(PartitionModel& model, PartitionCandidate& best, std::int64_t budget) {
  const std::vector<int> stages = byWork(model, best.partition);
  for (const int from : stages) {
    if (!canMove(best.partition.blocks, from)) continue;
    for (auto to = stages.rbegin(); to != stages.rend(); ++to) {
      if (*to == from) continue;
      if (model.timed() >= budget) return false;
      PartitionCandidate next = model.candidate(blockMoved(best.partition.blocks, from, *to));
      if (next.score < best.score) {
        best = std::move(next);
        return true;
      }
    }
  }
  return false;
}

std::vector<int> firstsOf(const std::vector<int>& blocks) {
  std::vector<int> firsts{0};
  for (const int count : blocks) firsts.push_back(firsts.back() + count);
  return firsts;
}

/// The same with other recomputes.
bool moveRecomputes(PartitionModel& model, PartitionCandidate& best, std::int64_t budget) {
  if (best.score.excess > 0) return false;
  RecomputeFinder& finder = model.recomputes();
  const std::vector<int> firsts = firstsOf(best.partition.blocks);
  for (std::size_t group = 0; group < finder.groups().size(); ++group) {
    const std::vector<int>& stages = finder.groups()[group].stages;
    const RecomputeChoices choices = finder.of(group, firsts);
    for (std::size_t i = 0; choices.counts.size() > 1 && i < choices.counts.size(); ++i) {
      if (model.timed() >= budget) return false;
      BlockPartition partition = best.partition;
      for (std::size_t k = 0; k < stages.size(); ++k) {
        partition.recomputed[static_cast<std::size_t>(stages[k])] = choices.counts[i][k];
      }
      PartitionCandidate next = model.candidate(std::move(partition));
      if (next.score < best.score) {
        best = std::move(next);
        return true;
      }
    }
  }
  return false;
}

/// The worst of each stage alone, as far as it is known without the others.
class StageBounds {
 public:
  explicit StageBounds(PartitionModel& model) : model_(model) {
    const auto& groups = model.recomputes().groups();
    groupOf_.resize(static_cast<std::size_t>(model.numStages()), groups.size());
    for (std::size_t group = 0; group < groups.size(); ++group) {
      const std::vector<int>& stages = groups[group].stages;
      if (stages.size() == 1) groupOf_[static_cast<std::size_t>(stages.front())] = group;
    }
    firsts_.resize(static_cast<std::size_t>(model.numStages()) + 1);
  }

  Worst of(int stage, int first, int count) {
    const auto s = static_cast<std::size_t>(stage);
    if (groupOf_[s] == model_.recomputes().groups().size()) {
      return {0, model_.bound(stage, first, count)};
    }
    firsts_[s] = first;
    firsts_[s + 1] = first + count;
    const RecomputeChoices& choices = model_.recomputes().of(groupOf_[s], firsts_);
    return {choices.excess, model_.bound(stage, first, count, choices.counts.front().front())};
  }

 private:
  PartitionModel& model_;
  std::vector<std::size_t> groupOf_;  // by stage; the number of groups: it shares one
  std::vector<int> firsts_;
};

}  // namespace

std::vector<int> leastBoundPartition(PartitionModel& model) {
  constexpr Worst kNever{kNsMax, kNsMax};
  const int stages = model.numStages();
  const int blocks = model.numBlocks();
  const auto size = static_cast<std::size_t>(blocks) + 1;
  std::vector<Worst> before(size, kNever);
  before[0] = {};
  std::vector<std::vector<int>> lastOf;  // by stage and end: the stage's number of blocks
  StageBounds bounds(model);
  for (int stage = 0; stage < stages; ++stage) {
    std::vector<Worst> now(size, kNever);
    std::vector<int>& last = lastOf.emplace_back(size, 0);
    for (int end = stage + 1; end <= blocks - (stages - 1 - stage); ++end) {
      const auto e = static_cast<std::size_t>(end);
      for (int count = 1; count <= end - stage; ++count) {
        // More blocks make the bound no smaller.
        if (now[e].first == 0 && model.bound(stage, end - count, count) >= now[e].second) break;
        const Worst& others = before[e - static_cast<std::size_t>(count)];
        if (others == kNever) continue;
        const Worst own = bounds.of(stage, end - count, count);
        if (own.first > 0 && own.first >= now[e].first) break;
        const Worst all = worseOf(others, own);
        if (all >= now[e]) continue;
        now[e] = all;
        last[e] = count;
      }
    }
    before = std::move(now);
  }
  std::vector<int> found(static_cast<std::size_t>(stages));
  int end = blocks;
  for (int stage = stages - 1; stage >= 0; --stage) {
    const auto s = static_cast<std::size_t>(stage);
    found[s] = lastOf[s][static_cast<std::size_t>(end)];
    end -= found[s];
  }
  return found;
}

PartitionCandidate walkDown(PartitionModel& model, PartitionCandidate from, std::int64_t budget) {
  while (moveBlock(model, from, budget) || moveRecomputes(model, from, budget)) {
  }
  return from;
}

std::vector<int> shaken(std::vector<int> blocks, std::mt19937& random) {
  const auto stages = static_cast<unsigned>(blocks.size());
  const unsigned moves = 2 + random() % 4;
  for (unsigned i = 0; i < moves; ++i) {
    const auto from = static_cast<int>(random() % stages);
    const auto to = static_cast<int>(random() % stages);
    if (from != to && canMove(blocks, from)) blocks = blockMoved(std::move(blocks), from, to);
  }
  return blocks;
}

}  // namespace pipetrace
