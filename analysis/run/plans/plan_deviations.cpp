#include "analysis/run/plans/plan_deviations.h"

#include <algorithm>
#include <cstddef>
#include <tuple>
#include <utility>

#include "analysis/run/plans/in_order.h"

namespace pipetrace {
namespace {

using Row = std::vector<Action>;

auto keyOf(const Action& action) {
  return std::tuple(action.kind, action.stage, action.microBatch, action.backwardStage,
                    action.backwardMicroBatch);
}

/// The positions from `begin` to `end` of a row, in the order of their actions. Those of equal
/// actions ascend.
std::vector<int> positionsByAction(const Row& row, std::size_t begin, std::size_t end) {
  std::vector<int> positions;
  for (std::size_t i = begin; i < end; ++i) positions.push_back(static_cast<int>(i));
  std::stable_sort(positions.begin(), positions.end(), [&](int a, int b) {
    return keyOf(row[static_cast<std::size_t>(a)]) < keyOf(row[static_cast<std::size_t>(b)]);
  });
  return positions;
}

class RowComparison {
 public:
  RowComparison(int rank, const Row& measured, const Row& reference, PlanDeviations& found)
      : rank_(rank), measured_(measured), reference_(reference), found_(found) {}

  void run() {
    const auto [m, r] =
        std::mismatch(measured_.begin(), measured_.end(), reference_.begin(), reference_.end());
    const auto begin = static_cast<std::size_t>(m - measured_.begin());
    std::size_t measuredEnd = measured_.size();
    std::size_t referenceEnd = reference_.size();
    while (measuredEnd > begin && referenceEnd > begin &&
           measured_[measuredEnd - 1] == reference_[referenceEnd - 1]) {
      --measuredEnd;
      --referenceEnd;
    }
    match(positionsByAction(measured_, begin, measuredEnd),
          positionsByAction(reference_, begin, referenceEnd));
    findMoved();
  }

 private:
  const Action& measured(int position) const {
    return measured_[static_cast<std::size_t>(position)];
  }
  const Action& reference(int position) const {
    return reference_[static_cast<std::size_t>(position)];
  }

  /// Pairs equal actions, the n-th with the n-th.
  void match(const std::vector<int>& measured, const std::vector<int>& reference) {
    std::vector<int> missing;
    std::vector<int> extra;
    std::size_t i = 0;
    std::size_t j = 0;
    while (i < measured.size() || j < reference.size()) {
      const bool hasBoth = i < measured.size() && j < reference.size();
      const auto mine = i < measured.size() ? keyOf(this->measured(measured[i])) : keyOf({});
      const auto theirs = j < reference.size() ? keyOf(this->reference(reference[j])) : keyOf({});
      if (hasBoth && mine == theirs) {
        pairs_.emplace_back(measured[i++], reference[j++]);
      } else if (j == reference.size() || (hasBoth && mine < theirs)) {
        extra.push_back(measured[i++]);
      } else {
        missing.push_back(reference[j++]);
      }
    }
    std::sort(missing.begin(), missing.end());
    std::sort(extra.begin(), extra.end());
    for (const int p : missing) found_.missing.push_back({rank_, this->reference(p), p, -1});
    for (const int p : extra) found_.extra.push_back({rank_, this->measured(p), -1, p});
  }

  void findMoved() {
    std::sort(pairs_.begin(), pairs_.end());
    std::vector<int> planned;
    for (const auto& [at, place] : pairs_) planned.push_back(place);
    std::vector<int> sorted = planned;
    std::sort(sorted.begin(), sorted.end());
    for (int& place : planned) {
      place =
          static_cast<int>(std::lower_bound(sorted.begin(), sorted.end(), place) - sorted.begin());
    }
    const std::vector<bool> stays = stayInOrder(planned);
    for (std::size_t i = 0; i < pairs_.size(); ++i) {
      if (stays[i]) continue;
      const auto [at, place] = pairs_[i];
      found_.moved.push_back({rank_, measured(at), place, at});
    }
  }

  int rank_;
  const Row& measured_;
  const Row& reference_;
  PlanDeviations& found_;
  std::vector<std::pair<int, int>> pairs_;  // positions: measured, planned
};

}  // namespace

PlanDeviations findDeviations(const Plan& measured, const Plan& reference) {
  PlanDeviations found;
  static const Row kNothing;
  for (int rank = 0; rank < std::max(measured.numRanks(), reference.numRanks()); ++rank) {
    const auto r = static_cast<std::size_t>(rank);
    const Row& mine = rank < measured.numRanks() ? measured.ranks[r] : kNothing;
    const Row& theirs = rank < reference.numRanks() ? reference.ranks[r] : kNothing;
    if (mine.empty()) continue;
    RowComparison(rank, mine, theirs, found).run();
  }
  return found;
}

}  // namespace pipetrace
