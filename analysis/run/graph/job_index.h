#pragma once

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analysis/run/graph/job_graph.h"
#include "trace/log/fused_pair.h"

namespace pipetrace {

/// The data of a micro-batch on its way through one stage.
struct JobKey {
  std::int32_t step = -1;
  std::int32_t stage = -1;
  std::int32_t microBatch = -1;
  bool isForward = true;

  /// Whether all numbers are known.
  bool isKnown() const { return step >= 0 && stage >= 0 && microBatch >= 0; }
};

/// Makes the range of numbers that keys have include those of `key`.
inline void widen(const JobKey& key, JobKey& lowest, JobKey& highest) {
  lowest.step = std::min(lowest.step, key.step);
  lowest.stage = std::min(lowest.stage, key.stage);
  lowest.microBatch = std::min(lowest.microBatch, key.microBatch);
  highest.step = std::max(highest.step, key.step);
  highest.stage = std::max(highest.stage, key.stage);
  highest.microBatch = std::max(highest.microBatch, key.microBatch);
}

/// Finds a number by its JobKey. It is a flat array where the keys are dense, as they are in most
/// runs.
class JobIndex {
 public:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  /// The numbers that keys have: at least `lowest`, at most `highest`. `count`: how many there are.
  JobIndex(const JobKey& lowest, const JobKey& highest, std::size_t count) : lowest_(lowest) {
    const auto size = [](std::int32_t low, std::int32_t high) {
      return high < low ? 0.0 : static_cast<double>(high) - low + 1;
    };
    const double steps = size(lowest.step, highest.step);
    const double stages = size(lowest.stage, highest.stage);
    const double microBatches = size(lowest.microBatch, highest.microBatch);
    const double cells = steps * stages * microBatches * 2;
    if (cells > 8 * static_cast<double>(count) + 4096) return;
    stages_ = static_cast<std::size_t>(stages);
    microBatches_ = static_cast<std::size_t>(microBatches);
    highest_ = highest;
    flat_.assign(static_cast<std::size_t>(cells), kNone);
  }

  /// The number of `key`, kNone where it has none yet. `key` must be known.
  std::uint32_t find(const JobKey& key) const {
    if (!flat_.empty()) return isIn(key) ? flat_[cellOf(key)] : kNone;
    const auto found = sparse_.find(wordsOf(key));
    return found == sparse_.end() ? kNone : found->second;
  }

  void set(const JobKey& key, std::uint32_t number) {
    if (flat_.empty()) {
      sparse_[wordsOf(key)] = number;
    } else if (isIn(key)) {
      flat_[cellOf(key)] = number;
    }
  }

 private:
  using Words = std::pair<std::uint64_t, std::uint64_t>;
  struct Hash {
    std::size_t operator()(const Words& words) const {
      return (words.first * 0x9e3779b97f4a7c15U) ^ (words.second + (words.first >> 29U));
    }
  };

  static Words wordsOf(const JobKey& key) {
    return {(static_cast<std::uint64_t>(key.step) << 32U) | static_cast<std::uint32_t>(key.stage),
            (static_cast<std::uint64_t>(key.microBatch) << 1U) | (key.isForward ? 1U : 0U)};
  }
  bool isIn(const JobKey& key) const {
    const auto isBetween = [](std::int32_t low, std::int32_t at, std::int32_t high) {
      return low <= at && at <= high;
    };
    return isBetween(lowest_.step, key.step, highest_.step) &&
           isBetween(lowest_.stage, key.stage, highest_.stage) &&
           isBetween(lowest_.microBatch, key.microBatch, highest_.microBatch);
  }
  std::size_t cellOf(const JobKey& key) const {
    const auto step = static_cast<std::size_t>(key.step - lowest_.step);
    const auto stage = static_cast<std::size_t>(key.stage - lowest_.stage);
    const auto microBatch = static_cast<std::size_t>(key.microBatch - lowest_.microBatch);
    return (((step * stages_) + stage) * microBatches_ + microBatch) * 2 + (key.isForward ? 1 : 0);
  }

  JobKey lowest_;
  JobKey highest_;
  std::size_t stages_ = 0;
  std::size_t microBatches_ = 0;
  std::vector<std::uint32_t> flat_;
  std::unordered_map<Words, std::uint32_t, Hash> sparse_;
};

/// Visits the forward and backward data that a job makes, by its own stage.
template <typename Visit>
void visitMadeData(const Timeline& timeline, const JobGraph::Node& job, const Visit& visit) {
  switch (job.kind) {
    case JobKind::kForwardBackward:
      if (const auto pair = fusedPairOf(timeline, *job.event)) {
        visit(JobKey{job.step, pair->forwardStage, pair->forwardMicroBatch, true});
        visit(JobKey{job.step, pair->backwardStage, pair->backwardMicroBatch, false});
      }
      break;
    case JobKind::kForward:
    case JobKind::kBackward:
    case JobKind::kBackwardInput:
      visit(JobKey{job.step, job.stage, job.microBatch, job.kind == JobKind::kForward});
      break;
    default: break;
  }
}

}  // namespace pipetrace
