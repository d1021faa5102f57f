// The part of RunModel that tells slow ranks from stages with more work.
#include <algorithm>
#include <cmath>

#include "analysis/explain/beside_others.h"
#include "analysis/what_if/run_model.h"
#include "analysis/what_if/stage_changes.h"
#include "trace/text/fixed_text.h"
#include "trace/text/ranks_text.h"

namespace pipetrace {
namespace {

/// From this factor on, stages of one rank take longer than others.
constexpr double kSlowStages = 1.1;

ScaleOption scaleOfRank(int position, double factor) {
  return {.of = ScaleOption::Of::kRank,
          .number = position,
          .billionths = std::llround(factor * ScaleOption::kOne)};
}

}  // namespace

std::vector<std::vector<int>> RunModel::ownStages() const {
  std::vector<std::vector<int>> own(std::max(plan_.ranks.size(), rankNumbers_.size()));
  for (int stage = 0; stage < plan_.numStages; ++stage) {
    const std::vector<int> ranks = plan_.ranksOf(stage);
    if (ranks.size() != 1) continue;
    const auto rank = static_cast<std::size_t>(ranks.front());
    if (rank < own.size()) own[rank].push_back(stage);
  }
  return own;
}

void RunModel::findSlowRanks(const JobGraph& graph, const CountedSteps& counted) {
  const SlowerRanks slower(graph, counted);
  const std::vector<std::vector<int>> own = ownStages();
  for (std::size_t position = 0; position < rankNumbers_.size(); ++position) {
    const int number = rankNumbers_[position];
    if (number < 0 || own[position].empty()) continue;
    const double factor = slower.of(number).factor;
    if (factor < SlowerRanks::kSlow) continue;
    slowRanks_.push_back(scaleOfRank(static_cast<int>(position), factor));
    assumptions_.push_back("rank " + std::to_string(number) + " stays " + fixedText(factor, 2) +
                           " times as slow as its peers, whatever stages it gets");
  }
}

/// Nobody can tell whether the stages of a rank without peers have more work, or the rank is
/// slower.
void RunModel::doubtSlowStage(const Timeline& timeline, const JobGraph& graph,
                              const CountedSteps& counted) {
  const MedianDurations usual(graph, 1, counted);
  const SlowerStages stages(timeline, graph, usual);
  if (stages.count() < 2 || rankNumbers_.size() < 2) return;
  const std::vector<std::vector<int>> ofRanks = ownStages();
  double most = kSlowStages;
  int slowest = -1;
  for (int position = 0; position < static_cast<int>(rankNumbers_.size()); ++position) {
    const std::vector<int>& own = ofRanks[static_cast<std::size_t>(position)];
    if (own.empty()) continue;
    const SlowerStages::Factor factor = stages.besideOthers({own.begin(), own.end()});
    if (!factor.isKnown || factor.times < most) continue;
    most = factor.times;
    slowest = position;
  }
  if (slowest < 0) return;
  const std::vector<int>& own = ofRanks[static_cast<std::size_t>(slowest)];
  const std::string rank = std::to_string(rankNumbers_[static_cast<std::size_t>(slowest)]);
  std::string options;
  for (const int stage : own) {
    options += "--scale stage=" + std::to_string(stage) + ":" + fixedText(1 / most, 4) + " ";
  }
  assumptions_.push_back(
      (own.size() == 1 ? "stage " : "stages ") + numbersText(own) +
      (own.size() == 1 ? " is" : " are") + " taken to have more work; if rank " + rank +
      " is slower instead, other schedules gain less, as what-if --schedule " + "says with " +
      options + "--scale rank=" + rank + ":" + fixedText(most, 4));
}

void RunModel::takeSlownessFrom(Costs& costs) const {
  if (slowRanks_.empty()) return;
  const std::vector<std::vector<int>> own = ownStages();
  for (const ScaleOption& slow : slowRanks_) {
    const ScaleOption faster = scaleOfRank(slow.number, 1 / slow.factor());
    for (const int stage : own[static_cast<std::size_t>(slow.number)]) {
      for (const JobKind kind : kStageKinds) {
        Nanoseconds& time = timeOf(costs.stages[static_cast<std::size_t>(stage)], kind);
        if (time > 0) time = faster.scaled(time);
      }
    }
  }
}

}  // namespace pipetrace
