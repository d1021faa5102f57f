#include "schedule/builders/stage_ranks.h"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "schedule/builders/placements.h"
#include "schedule/builders/schedules.h"
#include "trace/error.h"
#include "trace/text/number_text.h"

namespace pipetrace {
namespace {

/// The least rank that no stage is on.
int firstMissing(const std::vector<std::vector<int>>& ranksOfStage) {
  std::set<int> known;
  for (const std::vector<int>& ofStage : ranksOfStage) known.insert(ofStage.begin(), ofStage.end());
  int rank = 0;
  while (known.contains(rank)) ++rank;
  return rank;
}

/// Throws Error unless each rank has one stage, and each stage's ranks have something to do.
int checkedRanks(const std::string& who, const std::vector<std::vector<int>>& ranksOfStage,
                 int microBatches) {
  std::size_t ranks = 0;
  for (const std::vector<int>& ofStage : ranksOfStage) ranks += ofStage.size();
  std::vector<int> stageOf(ranks, -1);
  for (std::size_t s = 0; s < ranksOfStage.size(); ++s) {
    const std::string stage = "stage " + std::to_string(s);
    if (ranksOfStage[s].size() > static_cast<std::size_t>(std::max(microBatches, 0))) {
      throw Error(who + stage + " has " + countText(ranksOfStage[s].size(), "rank") +
                  " and the plan only " + countText(microBatches, "micro-batch", "micro-batches") +
                  "; give it more, or the stage fewer ranks");
    }
    for (const int rank : ranksOfStage[s]) {
      const std::string name = "rank " + std::to_string(rank);
      if (rank < 0 || rank >= static_cast<int>(ranks)) {
        throw Error(who + stage + " is on " + name + ", and the map has " +
                    countText(ranks, "rank") + "; it leaves out rank " +
                    std::to_string(firstMissing(ranksOfStage)));
      }
      int& known = stageOf[static_cast<std::size_t>(rank)];
      if (known >= 0) {
        throw Error(who + name + " has stage " + std::to_string(known) + " and " + stage +
                    "; here a rank has one");
      }
      known = static_cast<int>(s);
    }
  }
  return static_cast<int>(ranks);
}

/// The ranks of the stages after one.
int ranksAfter(const std::vector<std::vector<int>>& ranksOfStage, std::size_t stage) {
  std::size_t ranks = 0;
  for (std::size_t s = stage + 1; s < ranksOfStage.size(); ++s) ranks += ranksOfStage[s].size();
  return static_cast<int>(ranks);
}

void requireDepths(const std::string& who, OrderOfRow order, std::size_t stages,
                   const std::vector<int>& depths) {
  if (depths.empty()) return;
  if (order != OrderOfRow::kOneFOneB) {
    throw Error(who + "it runs all forwards first; depths are for " + schedulesWithDepths());
  }
  if (depths.size() != stages) {
    throw Error(who + "there are depths of " + countText(depths.size(), "stage") +
                ", and the plan has " + std::to_string(stages));
  }
}

std::string sentenceOf(bool (*isMeant)(const ScheduleInfo&)) {
  std::vector<std::string_view> names;
  for (const ScheduleInfo* const info : schedules::kAll) {
    if (isMeant(*info)) names.push_back(info->name);
  }
  std::sort(names.begin(), names.end());
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text += i + 1 < names.size() ? ", " : " and ";
    text += names[i];
  }
  return text;
}

}  // namespace

std::string schedulesOnStageRanks() {
  return sentenceOf([](const ScheduleInfo& info) { return info.onStageRanks != nullptr; });
}

std::string schedulesWithDepths() {
  return sentenceOf([](const ScheduleInfo& info) { return info.takesDepths; });
}

Plan onStageRanks(OrderOfRow order, const ScheduleInfo& schedule, const StageMap& map,
                  int microBatches) {
  const auto& [ranksOfStage, depths] = map;
  const std::string name(schedule.name);
  const std::string who = "cannot plan " + name + " on these ranks: ";
  const int ranks = checkedRanks(who, ranksOfStage, microBatches);
  requirePlanSize(name, {ranks, microBatches, 1});
  requireDepths(who, order, ranksOfStage.size(), depths);
  Plan plan{.name = name,
            .numStages = static_cast<int>(ranksOfStage.size()),
            .numMicroBatches = microBatches,
            .placement = {.ranksOfStage = ranksOfStage, .run = 1}};
  plan.ranks.resize(static_cast<std::size_t>(ranks));
  for (std::size_t s = 0; s < ranksOfStage.size(); ++s) {
    const auto turns = static_cast<int>(ranksOfStage[s].size());
    const int stage = static_cast<int>(s);
    for (int turn = 0; turn < turns; ++turn) {
      std::vector<Action>& row = plan.ranks[static_cast<std::size_t>(ranksOfStage[s][turn])];
      const int own = (microBatches - turn + turns - 1) / turns;
      const auto add = [&](JobKind kind, int which) {
        row.push_back({kind, stage, turn + which * turns});
      };
      const int ahead =
          depths.empty() ? (ranksAfter(ranksOfStage, s) + turns - 1) / turns : depths[s];
      const int warmUp = order == OrderOfRow::kOneFOneB ? std::min(own, ahead) : own;
      for (int i = 0; i < warmUp; ++i) add(JobKind::kForward, i);
      for (int i = warmUp; i < own; ++i) {
        add(JobKind::kForward, i);
        add(JobKind::kBackward, i - warmUp);
      }
      for (int i = own - warmUp; i < own; ++i) {
        const bool isNewestFirst = order == OrderOfRow::kNewestFirst;
        add(JobKind::kBackward, isNewestFirst ? own - 1 - i : i);
      }
    }
  }
  return plan;
}

}  // namespace pipetrace
