#include "schedule/partition/best_partition.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <string>
#include <utility>

#include "schedule/build_schedule.h"
#include "schedule/partition/partition_file.h"
#include "schedule/partition/partition_model.h"
#include "schedule/simulate/dry_run.h"
#include "trace/error.h"

namespace pipetrace {

namespace {

/// The cost of looking at a stage, in actions that are timed.
constexpr std::int64_t kCostOfStage = 20;

class EveryPartition {
 public:
  EveryPartition(PartitionModel& model, PartitionCandidate& best, std::int64_t budget)
      : model_(model),
        best_(best),
        budget_(budget),
        stages_(model.numStages()),
        blocks_(model.numBlocks()),
        firsts_(static_cast<std::size_t>(stages_) + 1),
        load_(model.plan().ranks.size()),
        firstOfRank_(model.plan().ranks.size(), -1),
        ranksOf_(static_cast<std::size_t>(stages_)) {
    for (const StageGroup& group : model.recomputes().groups()) {
      lastOfGroup_.push_back(group.stages.back());
    }
    chosen_.resize(lastOfGroup_.size());
    const std::vector<std::vector<int>> byRank = model.plan().stagesByRank();
    for (std::size_t rank = 0; rank < byRank.size(); ++rank) {
      if (byRank[rank].empty()) continue;
      firstOfRank_[rank] = byRank[rank].front();
      for (const int stage : byRank[rank]) {
        // Several ranks of a stage share its work; there its own bound says enough.
        if (model.plan().ranksOf(stage).size() > 1) continue;
        ranksOf_[static_cast<std::size_t>(stage)].push_back(rank);
      }
    }
    boundRest();
  }

  bool run() {
    place(0, 0);
    return !isOver_ && areAll_;
  }

 private:
  bool isWithin() {
    isOver_ = isOver_ || model_.timed() + looked_ >= budget_;
    return !isOver_;
  }

  /// The least largest bound of the stages from each one on, from each block on.
  void boundRest() {
    const auto size = static_cast<std::size_t>(blocks_) + 1;
    rest_.assign(static_cast<std::size_t>(stages_) + 1, std::vector<Nanoseconds>(size, kNsMax));
    rest_.back().back() = 0;
    for (int stage = stages_ - 1; stage >= 0; --stage) {
      const auto s = static_cast<std::size_t>(stage);
      for (int first = stage; first < blocks_; ++first) {
        Nanoseconds& least = rest_[s][static_cast<std::size_t>(first)];
        for (int count = 1; first + count <= blocks_; ++count) {
          const Nanoseconds own = model_.bound(stage, first, count);
          if (own >= least) break;
          least =
              std::min(least, std::max(own, rest_[s + 1][static_cast<std::size_t>(first + count)]));
        }
      }
    }
  }

  bool isNoBetter(Nanoseconds bound) const {
    return best_.score.excess == 0 && bound >= best_.score.length;
  }

  /// Tries all numbers of blocks for a stage and those after it.
  void place(int stage, int first) {
    const auto s = static_cast<std::size_t>(stage);
    firsts_[s] = first;
    const int left = stages_ - 1 - stage;
    const int least = left == 0 ? blocks_ - first : 1;
    for (int count = least; first + count <= blocks_ - left; ++count) {
      looked_ += kCostOfStage;
      if (!isWithin()) return;
      firsts_[s + 1] = first + count;
      if (isNoBetter(model_.bound(stage, first, count))) return;
      if (isNoBetter(rest_[s + 1][static_cast<std::size_t>(first + count)])) continue;
      const Nanoseconds own = model_.work(stage, first, count);
      for (const std::size_t rank : ranksOf_[s]) load_[rank] += own;
      if (!isTooMuch(stage) && chooseRecomputes(stage)) {
        left == 0 ? timeAll() : place(stage + 1, first + count);
      }
      for (const std::size_t rank : ranksOf_[s]) load_[rank] -= own;
    }
  }

  /// Whether a rank of the stage has more to do than the best step takes.
  bool isTooMuch(int stage) const {
    for (const std::size_t rank : ranksOf_[static_cast<std::size_t>(stage)]) {
      const int first = firsts_[static_cast<std::size_t>(firstOfRank_[rank])];
      if (isNoBetter(model_.forwardsBefore(first) + load_[rank])) return true;
    }
    return false;
  }

  /// Once all stages of a group are placed; false: it is not within the limit, or not better.
  bool chooseRecomputes(int stage) {
    for (std::size_t group = 0; group < lastOfGroup_.size(); ++group) {
      if (lastOfGroup_[group] != stage) continue;
      const RecomputeChoices& found = model_.recomputes().of(group, firsts_);
      areAll_ = areAll_ && found.areAll;
      if (found.excess > 0 && (best_.score.excess == 0 || found.excess >= best_.score.excess)) {
        return false;
      }
      chosen_[group] = found;
      const auto& stages = model_.recomputes().groups()[group].stages;
      if (stages.size() > 1) return true;
      const auto s = static_cast<std::size_t>(stage);
      return !isNoBetter(model_.bound(stage, firsts_[s], firsts_[s + 1] - firsts_[s],
                                      found.counts.front().front()));
    }
    return true;
  }

  /// Every combination of the groups' recomputes.
  void timeAll() {
    std::vector<int> blocks;
    for (std::size_t s = 0; s + 1 < firsts_.size(); ++s) {
      blocks.push_back(firsts_[s + 1] - firsts_[s]);
    }
    PartitionCandidate usual = model_.candidate(blocks);
    const bool fits = usual.score.excess == 0;
    if (usual.score < best_.score) best_ = std::move(usual);
    if (!fits) return;
    std::vector<std::size_t> number(chosen_.size(), 0);
    while (isWithin()) {
      std::size_t group = 0;
      while (group < number.size() && ++number[group] == chosen_[group].counts.size()) {
        number[group++] = 0;
      }
      if (group == number.size()) return;
      PartitionCandidate next = model_.candidate(withRecomputes(blocks, number));
      if (next.score < best_.score) best_ = std::move(next);
    }
  }

  BlockPartition withRecomputes(const std::vector<int>& blocks,
                                const std::vector<std::size_t>& number) const {
    BlockPartition partition{.blocks = blocks, .recomputed = std::vector<int>(blocks.size())};
    for (std::size_t group = 0; group < number.size(); ++group) {
      const std::vector<int>& stages = model_.recomputes().groups()[group].stages;
      for (std::size_t k = 0; k < stages.size(); ++k) {
        partition.recomputed[static_cast<std::size_t>(stages[k])] =
            chosen_[group].counts[number[group]][k];
      }
    }
    return partition;
  }

  PartitionModel& model_;
  PartitionCandidate& best_;
  const std::int64_t budget_;
  const int stages_;
  const int blocks_;
  std::vector<int> firsts_;  // by stage its first block, of those that are placed
  std::vector<Nanoseconds> load_;
  std::vector<int> firstOfRank_;                   // stage
  std::vector<std::vector<std::size_t>> ranksOf_;  // by stage, of those with one rank
  std::vector<int> lastOfGroup_;                   // stage
  std::vector<RecomputeChoices> chosen_;           // by group
  std::vector<std::vector<Nanoseconds>> rest_;
  std::int64_t looked_ = 0;
  bool isOver_ = false;
  bool areAll_ = true;
};

/// Looks at every partition that could be better than `best`, which it replaces by the best one.
/// Leaves out those of which a stage's bound, or what a rank has to do, says that they are not
/// (branch and bound). Returns whether it came to its end: then no partition has a shorter step, or
/// where none fits the limit, none exceeds it less. Else the actions that it timed came to
/// `budget`.
bool tryEveryPartition(PartitionModel& model, PartitionCandidate& best, std::int64_t budget) {
  return EveryPartition(model, best, budget).run();
}

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

/// The partition whose stages have the least largest bound (PartitionModel::bound()), with the
/// recomputes that a stage with a rank of its own needs. Found by dynamic programming: for each
/// stage and number of blocks up to its end, the best of its first blocks.
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

/// Goes from a partition to a better one next to it, until there is none. In those next to it one
/// stage has a block less and another one more, and the stages between them are shifted by one. Or
/// the stages of a rank have other recomputes. Ends early when model.timed() has come to `budget`.
PartitionCandidate walkDown(PartitionModel& model, PartitionCandidate from, std::int64_t budget) {
  while (moveBlock(model, from, budget) || moveRecomputes(model, from, budget)) {
  }
  return from;
}

/// Moves a few blocks at random.
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

/// Goes down from random partitions near the best.
void walkOn(PartitionModel& model, PartitionCandidate& best, std::int64_t budget) {
  std::mt19937 random(1);
  PartitionCandidate here = best;
  constexpr int kTries = 200;  // without anything better
  for (int tries = 0; tries < kTries && model.timed() < budget; ++tries) {
    PartitionCandidate next =
        walkDown(model, model.candidate(shaken(here.partition.blocks, random)), budget);
    if (next.score < here.score) here = std::move(next);
    if (!(here.score < best.score)) continue;
    best = here;
    tries = 0;
  }
}

FoundPartition simulated(const CheckedPlan& plan, const BlockTable& table,
                         PartitionCandidate from) {
  FoundPartition result{.partition = std::move(from.partition), .excess = from.score.excess};
  const DryRun run = dryRun(CheckedPlan(withRecompute(*plan, result.partition)),
                            costsOf(table, *plan, result.partition));
  result.step = run.length;
  for (const DryRun::Rank& rank : run.ranks) result.peakMemory.push_back(rank.peakMemory);
  return result;
}

}  // namespace

void requireSearchable(std::string_view schedule) {
  if (schedule.empty() || !scheduleInfo(schedule).dependsOnCosts) return;
  throw Error(std::string(scheduleInfo(schedule).name) +
              " is made for the costs of its stages, so it has no partition before it is planned; "
              "take another schedule");
}

void requireSearchable(const CheckedPlan& plan) {
  if (!plan->hasRecomputes()) return;
  throw Error("the plan " + plan->name +
              " says itself what runs again; a partition is searched for plans without "
              "recomputes");
}

BestPartition bestPartition(const CheckedPlan& plan, const BlockTable& table,
                            const PartitionSearchOptions& options) {
  requireSearchable(plan);
  if (options.memoryLimit > 0 && !table.hasMemory()) {
    throw Error("a limit needs to know what the blocks take: no block has activation_bytes");
  }
  const std::vector<int> even = evenBlocks(table.numBlocks(), plan->numStages);
  PartitionModel model(plan, table, options.memoryLimit, options.recomputes);
  const std::int64_t budget = options.budget;
  const PartitionCandidate evenly = model.candidate(even);
  PartitionCandidate best = walkDown(model, evenly, budget / 4);
  PartitionCandidate bounded =
      walkDown(model, model.candidate(leastBoundPartition(model)), budget / 2);
  if (bounded.score < best.score) best = std::move(bounded);
  BestPartition result;
  result.isProven = tryEveryPartition(model, best, budget * 3 / 4);
  if (!result.isProven) walkOn(model, best, budget);
  result.best = simulated(plan, table, std::move(best));
  result.even = simulated(plan, table, evenly);
  return result;
}

}  // namespace pipetrace
