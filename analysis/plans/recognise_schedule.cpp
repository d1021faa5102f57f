#include "analysis/plans/recognise_schedule.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "analysis/plans/in_order.h"
#include "analysis/plans/plan_passes.h"
#include "analysis/plans/shared_stages.h"
#include "schedule/build_schedule.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

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

  bool isRewritten(const Plan& plan) const { return !passRows_.inHalves() && hasHalves(plan); }

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
