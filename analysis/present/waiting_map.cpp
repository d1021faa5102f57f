#include "analysis/present/waiting_map.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "trace/job_kind.h"

namespace pipetrace {
namespace {

constexpr const char* kNoBreakSpace = "\u00a0";

template <typename Key>
WaitingMap mapOf(std::span<const InsideTimes> times,
                 const std::map<Key, Nanoseconds> InsideTimes::*waiting, bool isMean,
                 const std::function<WaitsKey(const Key&)>& keyOf) {
  std::set<Key> keys;
  for (const InsideTimes& of : times) {
    for (const auto& [key, time] : of.*waiting) keys.insert(key);
  }
  WaitingMap map;
  for (const Key& key : keys) map.keys.push_back(keyOf(key));
  for (const InsideTimes& of : times) {
    if (of.steps == 0) continue;
    WaitingMap::Row& row = map.rows.emplace_back(WaitingMap::Row{of.rank, {}});
    for (const Key& key : keys) {
      const auto found = (of.*waiting).find(key);
      const Nanoseconds time = found == (of.*waiting).end() ? 0 : found->second;
      row.waiting.push_back(isMean ? time / of.steps : time);
      map.longest = std::max(map.longest, row.waiting.back());
    }
  }
  return map;
}

WaitingMap named(WaitingMap map, WaitsBy by, const char* title, const char* what) {
  map.by = by;
  map.title = title;
  for (const WaitsKey& key : map.keys) {
    const bool isPlace = by == WaitsBy::kPlace;
    const std::string name = isPlace ? std::string(logName(key.kind)) : what;
    const std::int32_t number = isPlace ? key.number + 1 : key.number;
    map.columns.push_back(number < 0 ? "no " + name
                                     : name + kNoBreakSpace + std::to_string(number));
  }
  return map;
}

}  // namespace

std::vector<WaitingMap> waitingMaps(std::span<const InsideTimes> times) {
  using Place = std::pair<JobKind, int>;
  const auto ofNumber = [](const std::int32_t& number) { return WaitsKey{.number = number}; };
  std::vector<WaitingMap> maps;
  const auto add = [&](WaitingMap map) {
    if (map.keys.size() > 1 && map.longest > 0) maps.push_back(std::move(map));
  };
  add(named(mapOf<Place>(times, &InsideTimes::waitingByPlace, true,
                         [](const Place& place) {
                           return WaitsKey{place.first, place.second};
                         }),
            WaitsBy::kPlace, "waiting by place in the job", ""));
  add(named(mapOf<std::int32_t>(times, &InsideTimes::waitingByMicroBatch, true, ofNumber),
            WaitsBy::kMicroBatch, "waiting by micro-batch", "micro-batch"));
  add(named(mapOf<std::int32_t>(times, &InsideTimes::waitingByStep, false, ofNumber),
            WaitsBy::kStep, "waiting by step", "step"));
  return maps;
}

WaitingMap ownTimeMap(std::span<const InsideTimes> times) {
  WaitingMap map = named(
      mapOf<std::int32_t>(times, &InsideTimes::ownByMicroBatch, true,
                          [](const std::int32_t& number) { return WaitsKey{.number = number}; }),
      WaitsBy::kMicroBatch, "own time by micro-batch", "micro-batch");
  map.isOwn = true;
  map.least = map.longest;
  for (const WaitingMap::Row& row : map.rows) {
    for (const Nanoseconds time : row.waiting) map.least = std::min(map.least, time);
  }
  return map;
}

}  // namespace pipetrace
