#include "analysis/explain/uneven_micro_batches.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "trace/text/factor_text.h"
#include "trace/text/fixed_text.h"
#include "trace/text/ranks_text.h"
#include "trace/threads/in_parallel.h"

namespace pipetrace {
namespace {

struct LengthPair {
  std::int32_t step = 0;
  double forward = 0;
  double backward = 0;
};
using LengthsOfStages = std::map<std::int32_t, std::vector<LengthPair>>;

/// The forwards of one stage that wait for their backwards. A table of a fixed size: when more
/// micro-batches are on their way, pairs are lost.
class OpenForwards {
 public:
  void add(const JobGraph::Node& job) { slotOf(job) = &job; }
  /// Takes the forward of the same step and micro-batch; null: there is none.
  const JobGraph::Node* take(const JobGraph::Node& backward) {
    const JobGraph::Node*& slot = slotOf(backward);
    const bool isOne =
        slot != nullptr && slot->microBatch == backward.microBatch && slot->step == backward.step;
    return isOne ? std::exchange(slot, nullptr) : nullptr;
  }

 private:
  static constexpr std::size_t kSlots = 512;
  const JobGraph::Node*& slotOf(const JobGraph::Node& job) {
    return slots_[static_cast<std::uint32_t>(job.microBatch) % kSlots];
  }
  std::array<const JobGraph::Node*, kSlots> slots_{};
};

LengthsOfStages lengthsOf(const JobGraph& graph, const JobGraph::Rank& rank,
                          const CountedSteps& counted) {
  LengthsOfStages lengths;
  std::map<std::int32_t, OpenForwards> open;
  for (JobGraph::Id id = rank.first; id < rank.end; ++id) {
    const JobGraph::Node& job = graph.node(id);
    const bool isForward = job.kind == JobKind::kForward;
    const bool isBackward = job.kind == JobKind::kBackward || job.kind == JobKind::kBackwardInput;
    if (!isForward && !isBackward) continue;
    if (job.stage < 0 || job.step < 0 || job.event->part != kNotGiven) continue;
    if (!counted.contains(job.step)) continue;
    OpenForwards& ofStage = open[job.stage];
    if (isForward) {
      ofStage.add(job);
    } else if (const JobGraph::Node* const forward = ofStage.take(job)) {
      lengths[job.stage].push_back({job.step, static_cast<double>(forward->end - forward->begin),
                                    static_cast<double>(job.end - job.begin)});
    }
  }
  return lengths;
}

/// Divides them by the means of their steps.
void compareWithSteps(std::vector<LengthPair>& pairs) {
  std::stable_sort(pairs.begin(), pairs.end(),
                   [](const auto& a, const auto& b) { return a.step < b.step; });
  for (auto first = pairs.begin(); first != pairs.end();) {
    double forward = 0;
    double backward = 0;
    auto end = first;
    for (; end != pairs.end() && end->step == first->step; ++end) {
      forward += end->forward;
      backward += end->backward;
    }
    const auto count = static_cast<double>(end - first);
    for (; first != end; ++first) {
      first->forward = forward > 0 ? first->forward * count / forward : 1;
      first->backward = backward > 0 ? first->backward * count / backward : 1;
    }
  }
}

/// Sums over the pairs of a stage. The mean of each step is 1, so theirs is, too.
struct LengthSums {
  std::size_t pairs = 0;
  double forward = 0;  // squares of deviations
  double backward = 0;
  double both = 0;
  double longest = 0;

  void add(const std::vector<LengthPair>& lengths) {
    pairs += lengths.size();
    for (const LengthPair& pair : lengths) {
      const double f = pair.forward - 1;
      const double b = pair.backward - 1;
      forward += f * f;
      backward += b * b;
      both += f * b;
      longest = std::max(longest, pair.forward);
    }
  }
  UnevenMicroBatches::Stage stage() const {
    UnevenMicroBatches::Stage stage{.pairs = pairs, .longest = longest};
    if (pairs == 0) return stage;
    stage.variation = std::sqrt(forward / static_cast<double>(pairs));
    if (forward > 0 && backward > 0) stage.correlation = both / std::sqrt(forward * backward);
    return stage;
  }
};

}  // namespace

UnevenMicroBatches::UnevenMicroBatches(const JobGraph& graph, const CountedSteps& counted,
                                       int threads) {
  std::vector<LengthsOfStages> ranks(graph.ranks().size());
  inParallel(threads, ranks.size(), [&](std::size_t r) {
    ranks[r] = lengthsOf(graph, graph.ranks()[r], counted);
    for (auto& [stage, pairs] : ranks[r]) compareWithSteps(pairs);
  });
  std::map<std::int32_t, LengthSums> sums;
  for (const LengthsOfStages& rank : ranks) {
    for (const auto& [stage, pairs] : rank) sums[stage].add(pairs);
  }
  for (const auto& [number, sum] : sums) {
    stages_[number] = sum.stage();
    if (stages_[number].isUneven()) uneven_.push_back(number);
  }
  if (2 * uneven_.size() < stages_.size()) uneven_.clear();
}

bool UnevenMicroBatches::isShownBy(std::int32_t stage) const {
  return std::binary_search(uneven_.begin(), uneven_.end(), stage);
}

double UnevenMicroBatches::correlation() const {
  double least = 1;
  for (const int stage : uneven_) least = std::min(least, stages_.at(stage).correlation);
  return least;
}

double UnevenMicroBatches::longest() const {
  double longest = 0;
  for (const int stage : uneven_) longest = std::max(longest, stages_.at(stage).longest);
  return longest;
}

std::string toText(const UnevenMicroBatches& lengths) {
  const bool isOne = lengths.uneven().size() == 1;
  return std::string("micro-batches are of uneven length: on stage") + (isOne ? " " : "s ") +
         numbersText(lengths.uneven()) + " those with long forwards have long backwards " +
         "(correlation " + fixedText(lengths.correlation(), 2) + "), up to " +
         factorText(lengths.longest()) + " times the mean of their step";
}

}  // namespace pipetrace
