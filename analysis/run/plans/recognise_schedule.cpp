#include "analysis/run/plans/recognise_schedule.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/run/plans/in_order.h"
#include "analysis/run/plans/measured_plan.h"
#include "schedule/build_schedule.h"
#include "schedule/plan.h"
#include "trace/error.h"

namespace pipetrace {

namespace {

/// Rows of actions as rows of passes. A backward pass is alike whether it stands in the plan as one
/// job, as two halves or in a fused pair. Each pass of a stage and a micro-batch has a number below
/// 3 * numStages * numMicroBatches.
///
/// The measured plan sets how fine they are. Where it has halves, a whole backward pass is an input
/// half and a weight half right after it. Where it has none, an input half is the whole backward
/// pass, and weight halves do not count. The first stage has no gradient to send on, so runs may
/// have no input half there: then none counts.
class PassRows {
 public:
  /// The plan must have pass numbers and outlive this.
  explicit PassRows(const Plan& measured);

  bool inHalves() const { return inHalves_; }
  std::size_t passCount() const;
  /// A row of the measured plan, or of one with as many stages and no more micro-batches.
  std::vector<std::int32_t> passesOf(const std::vector<Action>& row) const;

 private:
  enum Pass { kForwardPass, kBackwardPass, kWeightPass, kPassCount };
  void add(std::vector<std::int32_t>& passes, Pass pass, int stage, int microBatch) const;

  const Plan& measured_;
  bool inHalves_;
  std::vector<bool> hasNoInputHalf_;  // by micro-batch, of the first stage
};

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

/// Whether any action of the plan is half a backward pass.
bool splitsBackward(const Plan& plan) {
  bool has = false;
  forEachAction(plan, [&](const Action& action) {
    has = has || action.kind == JobKind::kBackwardInput || action.kind == JobKind::kBackwardWeight;
  });
  return has;
}

/// The kinds of jobs that a plan has, by stage and micro-batch.
class JobsOfPlan {
 public:
  explicit JobsOfPlan(const Plan& plan)
      : plan_(plan),
        hasHalves_(splitsBackward(plan)),
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

/// Whether every action is of a compute job and in the plan's range, and there are few enough
/// stages and micro-batches to number their passes.
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
      inHalves_(splitsBackward(measured)),
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

/// `reference` in the kinds of jobs that `measured` has, as far as its order allows it. Halves that
/// stand side by side become one backward pass where the other plan has one. A whole one becomes
/// its halves. Fused pairs are made and taken apart. In a measured plan without halves the input
/// half is the backward pass. Input halves that the measured plan's first stage lacks are left out.
/// Both are of one size and have pass numbers.
Plan inJobsOf(const Plan& measured, Plan reference) {
  const JobsOfPlan jobs(measured);
  for (auto& row : reference.ranks) {
    row = withPairsOf(jobs, withBackwardsOf(jobs, withoutPairs(row)));
  }
  return reference;
}

using PassRow = std::vector<std::int32_t>;
using PassSpan = std::span<const std::int32_t>;

/// Counts the passes by which a row differs from another.
class RowDifference {
 public:
  explicit RowDifference(std::size_t passCount) : places_(passCount, kNone) {}

  /// PassRow of `mine` that are not in `theirs` or out of order there, and, if asked for, passes of
  /// `theirs` that `mine` lacks.
  std::size_t between(PassSpan mine, PassSpan theirs, bool countMissing) {
    while (!mine.empty() && !theirs.empty() && mine.front() == theirs.front()) {
      mine = mine.subspan(1);
      theirs = theirs.subspan(1);
    }
    while (!mine.empty() && !theirs.empty() && mine.back() == theirs.back()) {
      mine = mine.first(mine.size() - 1);
      theirs = theirs.first(theirs.size() - 1);
    }
    for (std::size_t i = 0; i < theirs.size(); ++i) placeOf(theirs[i]) = static_cast<int>(i);
    std::vector<int> found;
    found.reserve(mine.size());
    for (const std::int32_t pass : mine) {
      const int place = std::exchange(placeOf(pass), kNone);  // a second time is one too many
      if (place != kNone) found.push_back(place);
    }
    for (const std::int32_t pass : theirs) placeOf(pass) = kNone;
    const std::size_t wrong = mine.size() - longestInOrder(found);
    return countMissing ? wrong + theirs.size() - found.size() : wrong;
  }

 private:
  static constexpr int kNone = -1;
  int& placeOf(std::int32_t pass) { return places_[static_cast<std::size_t>(pass)]; }

  std::vector<int> places_;  // by pass: where it stands; between two calls kNone
};

/// A schedule that may give the order.
struct Candidate {
  const ScheduleInfo* info = nullptr;
  double beginning = 0;        // the distance of its beginning, where that is compared first
  std::optional<Plan> plan{};  // kept where it is small and may be needed again
};

/// How a schedule compares with the order.
struct Fit {
  Plan plan;
  double distance = 0;
  bool hasSameJobs = true;   // not only the same passes
  bool isRewritten = false;  // its halves count as whole backward passes
};

class Recognition {
 public:
  explicit Recognition(const Plan& measured)
      : measured_(measured),
        passRows_(measured),
        sharesStages_(hasSharedStages(measured)),
        size_{measured.numRanks(), measured.numMicroBatches,
              sharesStages_ ? 1 : measured.numStages / measured.numRanks()},
        difference_(passRows_.passCount()) {
    for (const auto& row : measured_.ranks) rows_.push_back(passRows_.passesOf(row));
  }

  RecognisedSchedule run() {
    findCandidates();
    std::vector<Fit> fits = exactFits();
    RecognisedSchedule result;
    if (fits.empty() && (result.depths = depthsOfStages())) fits = exactFits(*result.depths);
    const bool isExact = !fits.empty();
    if (!isExact) {
      result.depths.reset();
      fits = nearFits();
    }
    if (fits.empty()) return {};
    for (const Fit& fit : fits) result.names.push_back(fit.plan.name);
    result.isExact = isExact;
    result.distance = fits.front().distance;
    const bool isAsItIs = isExact && fits.front().hasSameJobs;
    result.plan = std::move(fits.front().plan);
    if (!isAsItIs) result.plan = inJobsOf(measured_, std::move(result.plan));
    return result;
  }

 private:
  void findCandidates() {
    const bool isForwardOnly = measured_.isForwardOnly();
    for (const ScheduleInfo& info : knownSchedules()) {
      if (info.dependsOnCosts || info.isForwardOnly != isForwardOnly) continue;
      if (size_.chunks < info.leastChunks || size_.chunks > info.mostChunks) continue;
      if (sharesStages_) {
        candidates_.push_back({&info, 0});
        continue;
      }
      const std::optional<Plan> least = built(info, 1);
      if (!least || !isPlacedAlike(*least)) continue;
      const bool tells = info.mostChunks == info.leastChunks && !least->isBidirectional();
      candidates_.push_back({&info, tells ? beginningOf(info) : 0});
    }
  }

  std::optional<Plan> built(const ScheduleInfo& info, int microBatches) const {
    try {
      if (sharesStages_) {
        return buildOnStageRanks(info.name, measured_.placement.ranksOfStage, microBatches);
      }
      return buildSchedule(info.name, {size_.ranks, microBatches, size_.chunks});
    } catch (const Error&) {
      return std::nullopt;  // there is none of this size
    }
  }

  bool isPlacedAlike(const Plan& plan) const {
    for (int s = 0; s < plan.numStages; ++s) {
      const int rank = measured_.placement.firstRankOf(s);
      if (rank >= 0 && rank != plan.placement.firstRankOf(s)) return false;
    }
    // One rank or one micro-batch does not show a second direction.
    const bool showsDirections = size_.ranks > 1 && size_.microBatches > 1;
    return measured_.isBidirectional() == plan.isBidirectional() || !showsDirections;
  }

  /// Compares the beginnings of rows with those of a plan of fewer micro-batches; 0 where there are
  /// few anyway. The schedule's plans must begin alike. Interleaved ones do not, as their rounds
  /// depend on the number of micro-batches, nor do those with two directions, whose second half
  /// begins with the middle one.
  double beginningOf(const ScheduleInfo& info) {
    const int few = 6 * size_.ranks;
    if (size_.microBatches < few + 2 * size_.ranks) return 0;
    const std::optional<Plan> plan = built(info, few);
    if (!plan) return 1;
    const std::size_t length = 4 * static_cast<std::size_t>(size_.ranks);
    std::size_t different = 0;
    std::size_t all = 0;
    bool isSame = true;
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      const PassSpan mine = PassSpan(rows_[r]).first(std::min(length, rows_[r].size()));
      const PassRow theirs = passRows_.passesOf(plan->ranks[r]);
      isSame = isSame && mine.size() <= theirs.size() &&
               std::equal(mine.begin(), mine.end(), theirs.begin());
      different += difference_.between(mine, theirs, false);
      all += mine.size();
    }
    if (isSame) return 0;
    return static_cast<double>(std::max<std::size_t>(1, different)) / static_cast<double>(all);
  }

  /// The schedules that give the order. Those with the same jobs, if there are any.
  std::vector<Fit> exactFits() {
    std::vector<Fit> fits;
    constexpr std::size_t kSmall = 1'000'000;
    for (Candidate& candidate : candidates_) {
      if (candidate.beginning > 0) continue;
      std::optional<Plan> plan = built(*candidate.info, size_.microBatches);
      if (!plan) continue;
      const bool hasSameJobs = isSame(*plan);
      if (!hasSameJobs && (isRewritten(*plan) || !hasSamePasses(*plan))) {
        if (passCount() <= kSmall) candidate.plan = std::move(plan);
        continue;
      }
      fits.push_back({std::move(*plan), 0, hasSameJobs});
    }
    const auto isSecondary = [](const Fit& fit) { return !fit.hasSameJobs; };
    if (!std::all_of(fits.begin(), fits.end(), isSecondary)) std::erase_if(fits, isSecondary);
    putThoseWithItsUpdatesFirst(fits);
    return fits;
  }

  void putThoseWithItsUpdatesFirst(std::vector<Fit>& fits) const {
    const auto changesWeightsAsMeasured = [&](const Fit& fit) {
      return measured_.isAsynchronous() && fit.plan.updates.every == measured_.updates.every;
    };
    std::stable_partition(fits.begin(), fits.end(), changesWeightsAsMeasured);
  }

  /// With how many forwards the ranks of each stage warm up: one fewer than before their first
  /// backward pass. None where ranks have several stages, or those of a stage differ. Only orders
  /// of PipeDream and of ranks that take turns have them: elsewhere few orders are not 1F1B with
  /// some depths.
  std::optional<std::vector<int>> depthsOfStages() const {
    std::vector<int> depths(static_cast<std::size_t>(measured_.numStages), -1);
    const bool mayHaveThem = sharesStages_ || measured_.isAsynchronous();
    if (!mayHaveThem || size_.chunks != 1 || measured_.isForwardOnly()) return std::nullopt;
    for (const std::vector<Action>& row : measured_.ranks) {
      const auto backward = std::find_if(row.begin(), row.end(), [](const Action& action) {
        return action.kind != JobKind::kForward && action.kind != JobKind::kRecompute;
      });
      if (row.empty() || backward == row.end()) continue;
      const auto forwards = std::count_if(row.begin(), backward, [](const Action& action) {
        return action.kind == JobKind::kForward;
      });
      int& depth = depths[static_cast<std::size_t>(row.front().stage)];
      const int own = std::max(0, static_cast<int>(forwards) - 1);
      if (depth >= 0 && depth != own) return std::nullopt;
      depth = own;
    }
    if (std::find(depths.begin(), depths.end(), -1) != depths.end()) return std::nullopt;
    return depths;
  }

  /// The schedules that give the order with these depths.
  std::vector<Fit> exactFits(const std::vector<int>& depths) {
    std::vector<Fit> fits;
    for (const Candidate& candidate : candidates_) {
      std::optional<Plan> plan;
      try {
        plan = buildOnStageRanks(candidate.info->name, measured_.placement.ranksOfStage,
                                 size_.microBatches, depths);
      } catch (const Error&) {
        continue;  // it has no depths
      }
      const bool hasSameJobs = isSame(*plan);
      if (!hasSameJobs && !hasSamePasses(*plan)) continue;
      fits.push_back({std::move(*plan), 0, hasSameJobs});
    }
    putThoseWithItsUpdatesFirst(fits);
    return fits;
  }

  std::size_t passCount() const {
    std::size_t count = 0;
    for (const PassRow& row : rows_) count += row.size();
    return count;
  }

  bool isSame(const Plan& plan) const {
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      if (!measured_.ranks[r].empty() && measured_.ranks[r] != plan.ranks[r]) return false;
    }
    return true;
  }

  bool hasSamePasses(const Plan& plan) const {
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      if (!rows_[r].empty() && rows_[r] != passRows_.passesOf(plan.ranks[r])) return false;
    }
    return true;
  }

  bool isRewritten(const Plan& plan) const { return !passRows_.inHalves() && splitsBackward(plan); }

  /// The closest schedules, if they are near: all that are equally close.
  std::vector<Fit> nearFits() {
    // The beginning alone may differ more than the whole. Where micro-batches are many, few plans
    // are worth the time.
    constexpr double kFarBeginning = 0.5;
    constexpr int kMostTried = 2;
    std::stable_sort(candidates_.begin(), candidates_.end(),
                     [](const auto& a, const auto& b) { return a.beginning < b.beginning; });
    std::vector<Fit> fits;
    int tried = 0;
    double last = 0;
    for (Candidate& candidate : candidates_) {
      if (candidate.beginning > kFarBeginning) break;
      if (candidate.beginning > last && (!fits.empty() || ++tried > kMostTried)) break;
      last = candidate.beginning;
      std::optional<Plan> plan = std::move(candidate.plan);
      if (!plan) plan = built(*candidate.info, size_.microBatches);
      if (!plan) continue;
      const bool rewritten = isRewritten(*plan);
      const double most = fits.empty() ? kMostDistance : fits.front().distance;
      const std::optional<double> distance = distanceOf(*plan, most);
      if (!distance) continue;
      fits.push_back({std::move(*plan), *distance, false, rewritten});
      keepTheClosest(fits);
    }
    sortAsKnown(fits);
    return fits;
  }

  static void keepTheClosest(std::vector<Fit>& fits) {
    const auto rank = [](const Fit& fit) { return std::pair(fit.distance, fit.isRewritten); };
    const auto best = rank(*std::min_element(
        fits.begin(), fits.end(), [&](const Fit& a, const Fit& b) { return rank(a) < rank(b); }));
    std::erase_if(fits, [&](const Fit& fit) { return rank(fit) != best; });
  }

  static void sortAsKnown(std::vector<Fit>& fits) {
    const std::vector<ScheduleInfo>& known = knownSchedules();
    const auto placeOf = [&](const Fit& fit) {
      return std::find_if(known.begin(), known.end(),
                          [&](const ScheduleInfo& info) { return info.name == fit.plan.name; });
    };
    std::stable_sort(fits.begin(), fits.end(),
                     [&](const Fit& a, const Fit& b) { return placeOf(a) < placeOf(b); });
  }

  /// The share of passes that differ; nothing if it is above `most`.
  std::optional<double> distanceOf(const Plan& plan, double most) {
    std::vector<PassRow> theirs;
    std::size_t all = 0;
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      theirs.emplace_back();
      if (rows_[r].empty()) continue;
      theirs.back() = passRows_.passesOf(plan.ranks[r]);
      all += theirs.back().size();
    }
    std::size_t different = 0;
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      if (rows_[r].empty()) continue;
      different += difference_.between(rows_[r], theirs[r], true);
      if (static_cast<double>(different) > most * static_cast<double>(all)) return std::nullopt;
    }
    return static_cast<double>(different) / static_cast<double>(all);
  }

  const Plan& measured_;
  PassRows passRows_;
  bool sharesStages_;
  PlanSize size_;
  RowDifference difference_;
  std::vector<PassRow> rows_;
  std::vector<Candidate> candidates_;
};

/// Whether a plan has the work that its size takes, at least half of it.
bool isRecognisable(const Plan& plan) {
  const int ranks = plan.numRanks();
  if (ranks == 0 || !hasPassNumbers(plan)) return false;
  if (plan.numStages % ranks != 0 && !hasSharedStages(plan)) return false;
  if (std::ssize(plan.placement.ranksOfStage) != plan.numStages) return false;
  std::int64_t actions = 0;
  std::int64_t rows = 0;
  for (const auto& row : plan.ranks) {
    actions += std::ssize(row);
    rows += row.empty() ? 0 : 1;
  }
  const std::int64_t places = static_cast<std::int64_t>(plan.numStages) * plan.numMicroBatches;
  return rows > 0 && actions >= places * rows / ranks / 2;
}

}  // namespace

RecognisedSchedule recogniseSchedule(const Plan& measured) {
  if (!isRecognisable(measured)) return {};
  return Recognition(measured).run();
}

std::string toText(const RecognisedSchedule& schedule) {
  if (schedule.names.empty()) return "unknown order";
  std::string text = (schedule.isExact ? "" : "like ") + schedule.names.front();
  if (!schedule.depths) return text;
  text += " with stage depths ";
  for (std::size_t stage = 0; stage < schedule.depths->size(); ++stage) {
    text += (stage == 0 ? "" : ",") + std::to_string((*schedule.depths)[stage]);
  }
  return text;
}

}  // namespace pipetrace
