#include "analysis/run/topology/rank_agreement.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "trace/log/rank_info_fields.h"
#include "trace/text/decimal_time.h"
#include "trace/text/ranks_text.h"

namespace pipetrace {
namespace {

constexpr const char* kOneRunOnly = "remove the logs of older runs, or give those of one run only";

/// For each value the ranks that give it. Ranks that give none are left out.
template <typename Value>
using Sayings = std::map<Value, std::vector<int>>;

Sayings<int> sayings(const Timeline& timeline, std::optional<int> RankInfo::*field) {
  Sayings<int> result;
  for (const auto& [rank, info] : timeline.ranks) {
    if (info.*field) result[*(info.*field)].push_back(rank);
  }
  return result;
}

Sayings<std::string> schedules(const Timeline& timeline) {
  Sayings<std::string> result;
  for (const auto& [rank, info] : timeline.ranks) {
    if (!info.schedule.empty()) result[info.schedule].push_back(rank);
  }
  return result;
}

std::string toText(int value) { return std::to_string(value); }
std::string toText(const std::string& value) { return value; }

template <typename Value>
void checkOneValue(std::string_view key, const Sayings<Value>& said, Diagnostics& diagnostics) {
  if (said.size() < 2) return;
  std::string message = "the ranks disagree about " + std::string(key) + ": ";
  const char* separator = "";
  for (const auto& [value, ranks] : said) {
    message += separator + toText(value) + " (" + ranksText(ranks) + ")";
    separator = ", ";
  }
  diagnostics.add(
      {.message = std::move(message), .advice = kOneRunOnly, .doubt = DoubtKind::kSeveralRuns});
}

/// Compares the ranks of the timeline with those of a run of `worldSize` ranks.
void checkPresence(const Timeline& timeline, int worldSize, Diagnostics& diagnostics) {
  std::vector<int> outside;
  for (const auto& [rank, info] : timeline.ranks) {
    if (rank >= worldSize) outside.push_back(rank);
  }
  if (!outside.empty()) {
    diagnostics.add({.message = ranksText(outside) + " cannot belong to a run with world_size = " +
                                std::to_string(worldSize) + ", which the logs name",
                     .advice = kOneRunOnly,
                     .doubt = DoubtKind::kSeveralRuns});
  }
  std::vector<int> missing;
  for (int rank = 0; rank < worldSize; ++rank) {
    if (!timeline.ranks.contains(rank)) missing.push_back(rank);
  }
  const bool isAsked = std::all_of(timeline.ranks.begin(), timeline.ranks.end(),
                                   [](const auto& rank) { return rank.second.isSelected; });
  if (missing.empty() || isAsked) return;
  const std::size_t present = static_cast<std::size_t>(worldSize) - missing.size();
  diagnostics.add(
      {.message = std::to_string(present) + " of " + std::to_string(worldSize) +
                  (present == 1 ? " ranks is there: " : " ranks are there: ") + ranksText(missing) +
                  (missing.size() == 1 ? " is" : " are") + " missing",
       .advice =
           "give the files of all ranks; lengths and bubbles are those of the ranks present"});
}

/// Ranks and the span of their jobs.
struct RanksInTime {
  std::vector<int> ranks;
  Timeline::Span span{kNsMax, kNsMin};
  bool hasBackward = false;

  void add(const RanksInTime& other) {
    ranks.insert(ranks.end(), other.ranks.begin(), other.ranks.end());
    span = {std::min(span.begin, other.span.begin), std::max(span.end, other.span.end)};
    hasBackward = hasBackward || other.hasBackward;
  }
};

bool isBackward(JobKind kind) {
  return kind == JobKind::kBackward || kind == JobKind::kBackwardInput ||
         kind == JobKind::kBackwardWeight || kind == JobKind::kForwardBackward;
}

/// Each rank that has jobs, in the order of first jobs.
std::vector<RanksInTime> ranksInTime(const Timeline& timeline) {
  std::map<int, RanksInTime> ranks;
  for (const Track& track : timeline.tracks) {
    RanksInTime ofTrack;
    for (const Event& event : track.events) {
      if (!isComputeLane(event.kind)) continue;
      ofTrack.span.begin = std::min(ofTrack.span.begin, event.begin);
      ofTrack.span.end = std::max(ofTrack.span.end, event.end);
      ofTrack.hasBackward = ofTrack.hasBackward || isBackward(event.kind);
    }
    if (ofTrack.span.begin <= ofTrack.span.end) ranks[track.rank].add(ofTrack);
  }
  std::vector<RanksInTime> list;
  for (auto& [rank, each] : ranks) {
    each.ranks = {rank};
    list.push_back(std::move(each));
  }
  std::stable_sort(list.begin(), list.end(), [](const RanksInTime& a, const RanksInTime& b) {
    return a.span.begin < b.span.begin;
  });
  return list;
}

/// Warns when ranks did not work at the same time. In one run they do: a backward job needs results
/// of all ranks of its pipeline, and pipelines wait for each other. Only forward jobs may run on
/// one rank after the other.
void checkTimes(const Timeline& timeline, Diagnostics& diagnostics) {
  std::vector<RanksInTime> groups;
  for (const RanksInTime& rank : ranksInTime(timeline)) {
    const bool isApart =
        groups.empty() || (groups.back().hasBackward && rank.span.begin > groups.back().span.end);
    if (isApart) groups.emplace_back();
    groups.back().add(rank);
  }
  for (std::size_t i = 1; i < groups.size(); ++i) {
    RanksInTime& before = groups[i - 1];
    std::sort(before.ranks.begin(), before.ranks.end());
    std::sort(groups[i].ranks.begin(), groups[i].ranks.end());
    const std::string pause = formatDuration(groups[i].span.begin - before.span.end);
    diagnostics.add({.message = ranksText(before.ranks) + " had ended " + pause + " before " +
                                ranksText(groups[i].ranks) +
                                " began: the logs are of several runs, or the clocks differ",
                     .advice = kOneRunOnly,
                     .doubt = DoubtKind::kSeveralRuns});
  }
}

}  // namespace

void checkOneRun(const Timeline& timeline, Diagnostics& diagnostics) {
  namespace keys = rank_info_keys;
  checkOneValue(keys::kWorldSize, sayings(timeline, &RankInfo::worldSize), diagnostics);
  checkOneValue(keys::kNumStages, sayings(timeline, &RankInfo::numStages), diagnostics);
  checkOneValue(keys::kNumMicroBatches, sayings(timeline, &RankInfo::numMicroBatches), diagnostics);
  checkOneValue(keys::kSchedule, schedules(timeline), diagnostics);
}

void checkRankAgreement(const Timeline& timeline, Diagnostics& diagnostics) {
  checkTimes(timeline, diagnostics);
  checkOneRun(timeline, diagnostics);
  const Sayings<int> worldSizes = sayings(timeline, &RankInfo::worldSize);
  constexpr int kMost = 1'000'000;  // a larger number is nonsense
  if (worldSizes.size() != 1) return;
  const int worldSize = worldSizes.begin()->first;
  if (worldSize >= 1 && worldSize <= kMost) checkPresence(timeline, worldSize, diagnostics);
}

}  // namespace pipetrace
