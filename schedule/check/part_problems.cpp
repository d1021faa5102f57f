#include "schedule/check/part_problems.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace pipetrace {
namespace {

/// A row has these of a stage whose last backward is in parts.
struct PartsInRow {
  Action first;            // the part that came first
  std::set<int> done;      // the parts that came
  std::set<int> reduced;   // buckets that stand before the last part
  int earliestWrong = -1;  // the cell of a reduction that comes before its part
};

class RowCheck {
 public:
  RowCheck(const std::vector<Action>& row, int rank, ProblemList& problems)
      : row_(row), rank_(rank), problems_(problems) {}

  void run() {
    for (std::size_t i = 0; i < row_.size(); ++i) visit(row_[i], static_cast<int>(i));
  }

 private:
  void visit(const Action& action, int cell) {
    const bool isPair = action.kind == JobKind::kForwardBackward;
    if (action.isPart() && mayHaveParts(action.kind)) {
      visitPart(action, cell);
    } else if (isPair || mayHaveParts(action.kind)) {
      visitWhole(action, isPair ? action.backwardStage : action.stage, cell);
    } else if (action.kind == JobKind::kReduceScatter) {
      visitReduction(action, cell);
    }
  }

  void visitPart(const Action& action, int cell) {
    const auto [place, isNew] = parts_.try_emplace(action.stage, PartsInRow{.first = action});
    PartsInRow& parts = place->second;
    if (!isOfIt(action, parts)) return reportLater(parts.first, action, cell);
    parts.done.insert(action.part);
    const bool hasWrong = parts.earliestWrong >= 0 && !wasReported_.contains(action.stage);
    if (!action.isLastPart() || !hasWrong) return;
    wasReported_.insert(action.stage);
    const Action& reduction = row_[static_cast<std::size_t>(parts.earliestWrong)];
    problems_.add(rank_, parts.earliestWrong, [&] {
      return toText(reduction) + " comes before " + toText(action) +
             ", and is not the bucket of a part that has ended; give each part one behind it, with "
             "its number";
    });
  }

  static bool isOfIt(const Action& action, const PartsInRow& parts) {
    return action.kind == parts.first.kind && action.microBatch == parts.first.microBatch;
  }

  void visitWhole(const Action& action, int stage, int cell) {
    const auto found = parts_.find(stage);
    if (found != parts_.end()) reportLater(found->second.first, action, cell);
  }

  void reportLater(const Action& part, const Action& later, int cell) {
    problems_.add(rank_, cell, [&] {
      return toText(later) + " comes after " + toText(part) +
             ", and only the last backward of a stage on its rank is in parts";
    });
  }

  void visitReduction(const Action& action, int cell) {
    const auto found = parts_.find(action.stage);
    if (found == parts_.end()) return;
    PartsInRow& parts = found->second;
    const bool isBetween = static_cast<int>(parts.done.size()) < parts.first.parts;
    const bool isOfEndedPart =
        parts.done.contains(action.microBatch) && parts.reduced.insert(action.microBatch).second;
    if (isBetween && !isOfEndedPart && parts.earliestWrong < 0) parts.earliestWrong = cell;
  }

  const std::vector<Action>& row_;
  const int rank_;
  ProblemList& problems_;
  std::map<int, PartsInRow> parts_;  // by stage
  std::set<int> wasReported_;        // stages
};

}  // namespace

ProblemList partProblems(const Plan& plan) {
  ProblemList problems;
  if (!std::any_of(plan.ranks.begin(), plan.ranks.end(), [](const auto& row) {
        return std::any_of(row.begin(), row.end(), [](const Action& a) { return a.isPart(); });
      })) {
    return problems;
  }
  if (plan.isAsynchronous()) {
    problems.add({.message = "a plan without a flush has no last backward that may be in parts"});
  }
  for (int rank = 0; rank < plan.numRanks(); ++rank) {
    RowCheck(plan.ranks[static_cast<std::size_t>(rank)], rank, problems).run();
  }
  return problems;
}

}  // namespace pipetrace
