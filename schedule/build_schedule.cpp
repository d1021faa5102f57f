#include "schedule/build_schedule.h"

#include <algorithm>

#include "schedule/builders/placements.h"
#include "schedule/builders/schedules.h"
#include "schedule/builders/stage_ranks.h"
#include "trace/error.h"
#include "trace/text/number_text.h"

namespace pipetrace {
namespace {

std::string reduced(std::string_view name) {
  std::string text;
  for (const char c : name) {
    if (c == '-' || c == '_' || c == ' ') continue;
    text += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return text;
}

const ScheduleInfo* findSchedule(std::string_view name) {
  const std::string key = reduced(name);
  if (key.empty()) return nullptr;
  for (const ScheduleInfo* const info : schedules::kAll) {
    if (reduced(info->name) == key) return info;
    for (const std::string_view alias : info->aliasList()) {
      if (reduced(alias) == key) return info;
    }
  }
  return nullptr;
}

int chunksOf(const ScheduleInfo& info, int asked) {
  if (asked == 0) return info.usualChunks;
  if (asked >= info.leastChunks && asked <= info.mostChunks) return asked;
  const std::string text = "cannot plan " + std::string(info.name) + " with " +
                           countText(asked, "chunk") + " per rank: it has ";
  if (asked < 1) throw Error(text + "at least one");
  if (info.mostChunks > 1) throw Error(text + std::to_string(info.usualChunks));
  throw Error(text + "one; with more, try " + std::string(info.chunkedKin->name) +
              std::string(info.ofChunkedKin));
}

}  // namespace

std::vector<std::string_view> ScheduleInfo::aliasList() const {
  constexpr std::string_view kBetween = ", ";
  std::vector<std::string_view> list;
  for (std::string_view rest = aliases; !rest.empty();) {
    const std::size_t end = std::min(rest.find(kBetween), rest.size());
    list.push_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + kBetween.size(), rest.size()));
  }
  return list;
}

Plan buildSchedule(std::string_view name, const PlanSize& size, const AutoInput& input) {
  const ScheduleInfo& info = scheduleInfo(name);
  const PlanSize settled = settledSize(name, size);
  return info.dependsOnCosts ? info.search(settled, input) : info.build(settled);
}

Plan buildOnStageRanks(std::string_view name, const std::vector<std::vector<int>>& ranksOfStage,
                       int microBatches, const std::vector<int>& depths) {
  const ScheduleInfo& info = scheduleInfo(name);
  if (info.onStageRanks != nullptr) return info.onStageRanks({ranksOfStage, depths}, microBatches);
  throw Error("cannot plan " + std::string(info.name) +
              " with the ranks or depths of each stage; that is for " + schedulesOnStageRanks());
}

StageMap stageMapOptions(std::string_view stageRanks, std::string_view stageDepths, int ranks) {
  StageMap map;
  if (!stageRanks.empty()) map.ranks = stageRanksOption(stageRanks);
  for (int rank = 0; rank < ranks && stageRanks.empty(); ++rank) map.ranks.push_back({rank});
  if (!stageDepths.empty()) map.depths = stageDepthsOption(stageDepths);
  return map;
}

bool isSchedule(std::string_view name) { return findSchedule(name) != nullptr; }

const ScheduleInfo& scheduleInfo(std::string_view name) {
  if (const ScheduleInfo* const info = findSchedule(name)) return *info;
  std::string text = "no schedule is called \"" + std::string(name) + "\"; choose one of";
  const char* separator = " ";
  for (const std::string& known : scheduleNames()) {
    text += separator + known;
    separator = ", ";
  }
  throw Error(text);
}

PlanSize settledSize(std::string_view name, const PlanSize& size) {
  const ScheduleInfo& info = scheduleInfo(name);
  PlanSize settled = size;
  settled.chunks = chunksOf(info, size.chunks);
  requirePlanSize(info.name, settled);
  return settled;
}

const std::vector<ScheduleInfo>& knownSchedules() {
  static const std::vector<ScheduleInfo> kKnown = [] {
    std::vector<ScheduleInfo> known;
    for (const ScheduleInfo* const info : schedules::kAll) known.push_back(*info);
    return known;
  }();
  return kKnown;
}

std::vector<std::string> scheduleNames() {
  std::vector<std::string> names;
  for (const ScheduleInfo* const info : schedules::kAll) names.emplace_back(info->name);
  return names;
}

}  // namespace pipetrace
