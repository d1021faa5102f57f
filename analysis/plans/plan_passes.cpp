#include "analysis/plans/plan_passes.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace pipetrace {
namespace {

constexpr std::int64_t kMostPlaces = 20'000'000;  // three passes each; a plan has fewer actions

std::size_t placeOf(const Plan& plan, int stage, int microBatch) {
  return static_cast<std::size_t>(stage) * static_cast<std::size_t>(plan.numMicroBatches) +
         static_cast<std::size_t>(microBatch);
}

bool isInRange(const Plan& plan, int stage, int microBatch) {
  return stage >= 0 && stage < plan.numStages && microBatch >= 0 &&
         microBatch < plan.numMicroBatches;
}

template <typename Visit>
void forEachAction(const Plan& plan, const Visit& visit) {
  for (const auto& row : plan.ranks) {
    for (const Action& action : row) visit(action);
  }
}

/// The kinds of jobs that a plan has, by stage and micro-batch.
class JobsOfPlan {
 public:
  explicit JobsOfPlan(const Plan& plan)
      : plan_(plan),
        hasHalves_(pipetrace::hasHalves(plan)),
        backward_(placeOf(plan, plan.numStages, 0), kNone),
        partner_(backward_.size(), kNobody) {
    forEachAction(plan, [&](const Action& action) {
      if (action.kind == JobKind::kForwardBackward) {
        backward_[placeOf(plan, action.backwardStage, action.backwardMicroBatch)] = kWhole;
        partner_[placeOf(plan, action.stage, action.microBatch)] = static_cast<std::int64_t>(
            placeOf(plan, action.backwardStage, action.backwardMicroBatch));
      } else if (action.kind == JobKind::kBackward) {
        backward_[placeOf(plan, action.stage, action.microBatch)] = kWhole;
      } else if (action.kind == JobKind::kBackwardInput) {
        backward_[placeOf(plan, action.stage, action.microBatch)] = kHalves;
      } else if (action.kind == JobKind::kBackwardWeight && action.stage == 0) {
        Job& job = backward_[placeOf(plan, action.stage, action.microBatch)];
        if (job == kNone) job = kWeightHalf;
      }
    });
  }

  bool hasHalves() const { return hasHalves_; }
  bool isWhole(const Action& backward) const { return jobOf(backward) == kWhole; }
  bool isInHalves(const Action& backward) const { return jobOf(backward) == kHalves; }
  /// Whether that is all there is of a backward pass, as it may be on the first stage.
  bool isWeightHalf(const Action& backward) const { return jobOf(backward) == kWeightHalf; }
  bool isPair(const Action& forward, const Action& backward) const {
    return forward.kind == JobKind::kForward && backward.kind == JobKind::kBackward &&
           partner_[placeOf(plan_, forward.stage, forward.microBatch)] ==
               static_cast<std::int64_t>(placeOf(plan_, backward.stage, backward.microBatch));
  }

 private:
  enum Job : char { kNone, kWhole, kHalves, kWeightHalf };
  static constexpr std::int64_t kNobody = -1;

  Job jobOf(const Action& action) const {
    return backward_[placeOf(plan_, action.stage, action.microBatch)];
  }

  const Plan& plan_;
  bool hasHalves_;
  std::vector<Job> backward_;
  std::vector<std::int64_t> partner_;  // of a fused forward: the place of its backward
};

bool areHalvesOfOne(const Action& input, const Action& weight) {
  return input.kind == JobKind::kBackwardInput && weight.kind == JobKind::kBackwardWeight &&
         input.stage == weight.stage && input.microBatch == weight.microBatch;
}

std::vector<Action> withoutPairs(const std::vector<Action>& row) {
  std::vector<Action> single;
  single.reserve(row.size());
  for (const Action& action : row) {
    if (action.kind != JobKind::kForwardBackward) {
      single.push_back(action);
      continue;
    }
    single.push_back({JobKind::kForward, action.stage, action.microBatch});
    single.push_back({JobKind::kBackward, action.backwardStage, action.backwardMicroBatch});
  }
  return single;
}

std::vector<Action> withBackwardsOf(const JobsOfPlan& jobs, const std::vector<Action>& row) {
  std::vector<Action> result;
  result.reserve(row.size());
  for (std::size_t i = 0; i < row.size(); ++i) {
    const Action& action = row[i];
    const Action whole{JobKind::kBackward, action.stage, action.microBatch};
    const bool startsBackward =
        action.kind == JobKind::kBackward || action.kind == JobKind::kBackwardInput;
    if (startsBackward && jobs.isWeightHalf(action)) {
      if (action.kind == JobKind::kBackwardInput) continue;
      result.push_back({JobKind::kBackwardWeight, action.stage, action.microBatch});
    } else if (action.kind == JobKind::kBackward && jobs.isInHalves(action)) {
      result.push_back({JobKind::kBackwardInput, action.stage, action.microBatch});
      result.push_back({JobKind::kBackwardWeight, action.stage, action.microBatch});
    } else if (action.kind == JobKind::kBackwardInput && !jobs.hasHalves()) {
      result.push_back(whole);
    } else if (action.kind == JobKind::kBackwardWeight && !jobs.hasHalves()) {
      continue;
    } else if (i + 1 < row.size() && areHalvesOfOne(action, row[i + 1]) && jobs.isWhole(action)) {
      result.push_back(whole);
      ++i;
    } else {
      result.push_back(action);
    }
  }
  return result;
}

std::vector<Action> withPairsOf(const JobsOfPlan& jobs, const std::vector<Action>& row) {
  std::vector<Action> result;
  result.reserve(row.size());
  for (std::size_t i = 0; i < row.size(); ++i) {
    const bool isPair = i + 1 < row.size() && jobs.isPair(row[i], row[i + 1]);
    result.push_back(row[i]);
    if (!isPair) continue;
    Action& pair = result.back();
    ++i;
    pair.kind = JobKind::kForwardBackward;
    pair.backwardStage = row[i].stage;
    pair.backwardMicroBatch = row[i].microBatch;
  }
  return result;
}

}  // namespace

bool hasHalves(const Plan& plan) {
  bool has = false;
  forEachAction(plan, [&](const Action& action) {
    has = has || action.kind == JobKind::kBackwardInput || action.kind == JobKind::kBackwardWeight;
  });
  return has;
}

bool hasPassNumbers(const Plan& plan) {
  if (plan.numStages < 1 || plan.numMicroBatches < 1) return false;
  if (kMostPlaces / plan.numStages < plan.numMicroBatches) return false;
  bool fits = true;
  forEachAction(plan, [&](const Action& action) {
    fits = fits && isCompute(action.kind) && action.kind != JobKind::kRecompute &&
           isInRange(plan, action.stage, action.microBatch);
    if (action.kind != JobKind::kForwardBackward) return;
    fits = fits && isInRange(plan, action.backwardStage, action.backwardMicroBatch);
  });
  return fits;
}

PassRows::PassRows(const Plan& measured)
    : measured_(measured),
      inHalves_(hasHalves(measured)),
      hasNoInputHalf_(static_cast<std::size_t>(measured.numMicroBatches), false) {
  if (!inHalves_) return;
  const JobsOfPlan jobs(measured);
  for (int m = 0; m < measured.numMicroBatches; ++m) {
    hasNoInputHalf_[static_cast<std::size_t>(m)] =
        jobs.isWeightHalf({JobKind::kBackwardWeight, 0, m});
  }
}

std::size_t PassRows::passCount() const {
  return placeOf(measured_, measured_.numStages, 0) * kPassCount;
}

void PassRows::add(std::vector<std::int32_t>& passes, Pass pass, int stage, int microBatch) const {
  if (pass == kBackwardPass && stage == 0 &&
      hasNoInputHalf_[static_cast<std::size_t>(microBatch)]) {
    return;
  }
  passes.push_back(static_cast<std::int32_t>(placeOf(measured_, stage, microBatch) * kPassCount) +
                   pass);
}

std::vector<std::int32_t> PassRows::passesOf(const std::vector<Action>& row) const {
  std::vector<std::int32_t> passes;
  passes.reserve(row.size() * 2);
  const auto addBackward = [&](int stage, int microBatch) {
    add(passes, kBackwardPass, stage, microBatch);
    if (inHalves_) add(passes, kWeightPass, stage, microBatch);
  };
  for (const Action& action : row) {
    switch (action.kind) {
      case JobKind::kForward: add(passes, kForwardPass, action.stage, action.microBatch); break;
      case JobKind::kBackward: addBackward(action.stage, action.microBatch); break;
      case JobKind::kBackwardInput:
        add(passes, kBackwardPass, action.stage, action.microBatch);
        break;
      case JobKind::kBackwardWeight:
        if (inHalves_) add(passes, kWeightPass, action.stage, action.microBatch);
        break;
      case JobKind::kForwardBackward:
        add(passes, kForwardPass, action.stage, action.microBatch);
        addBackward(action.backwardStage, action.backwardMicroBatch);
        break;
      default: break;
    }
  }
  return passes;
}

Plan inJobsOf(const Plan& measured, Plan reference) {
  const JobsOfPlan jobs(measured);
  for (auto& row : reference.ranks) {
    row = withPairsOf(jobs, withBackwardsOf(jobs, withoutPairs(row)));
  }
  return reference;
}

}  // namespace pipetrace
