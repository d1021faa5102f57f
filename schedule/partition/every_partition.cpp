#include "schedule/partition/every_partition.h"

#include <algorithm>
#include <utility>

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

}  // namespace

bool tryEveryPartition(PartitionModel& model, PartitionCandidate& best, std::int64_t budget) {
  return EveryPartition(model, best, budget).run();
}

}  // namespace pipetrace
