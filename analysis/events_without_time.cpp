#include "analysis/events_without_time.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "trace/event_arguments.h"
#include "trace/threads/in_parallel.h"

namespace pipetrace {
namespace {

constexpr Nanoseconds kDay = 86'400 * kNsPerSecond;
constexpr Nanoseconds kYears = 3 * 365 * kDay;

bool isAtZero(const Event& event) { return event.begin < kDay; }

struct CountsOfTimes {
  std::size_t atZero = 0;
  std::size_t later = 0;
};

}  // namespace

void leaveOutEventsWithoutTime(Timeline& timeline, int threads) {
  std::vector<CountsOfTimes> ofTracks(timeline.tracks.size());
  inParallel(threads, ofTracks.size(), [&](std::size_t i) {
    for (const Event& event : timeline.tracks[i].events) {
      if (isAtZero(event)) ++ofTracks[i].atZero;
      if (event.begin > kYears) ++ofTracks[i].later;
    }
  });
  std::map<int, CountsOfTimes> ofRanks;
  for (std::size_t i = 0; i < ofTracks.size(); ++i) {
    CountsOfTimes& rank = ofRanks[timeline.tracks[i].rank];
    rank.atZero += ofTracks[i].atZero;
    rank.later += ofTracks[i].later;
  }
  constexpr std::size_t kFew = 9;  // for each of those at 0
  const auto isLater = [&](int rank) {
    const auto found = ofRanks.find(rank);
    return found != ofRanks.end() && found->second.later > 0 &&
           found->second.later >= kFew * found->second.atZero;
  };
  for (Track& track : timeline.tracks) {
    if (!isLater(track.rank)) continue;
    const auto count = static_cast<std::int64_t>(std::erase_if(track.events, isAtZero));
    if (count > 0) timeline.ranks[track.rank].eventsWithoutTime += count;
  }
  for (CounterSeries& counter : timeline.counters) {
    if (!isLater(counter.rank)) continue;
    std::erase_if(counter.samples, [](const CounterSample& each) { return each.time < kDay; });
  }
}

std::vector<std::int32_t> stepsWithUntimedWork(const Timeline& timeline) {
  const auto key = timeline.strings.find(device_arguments::kUntimed);
  if (!key) return {};
  std::set<std::int32_t> steps;
  for (const Track& track : timeline.tracks) {
    const auto info = timeline.ranks.find(track.rank);
    const bool mayHave = track.lane == kComputeLane && info != timeline.ranks.end() &&
                         info->second.eventsWithoutTime > 0;
    if (!mayHave) continue;
    for (const Event& event : track.events) {
      for (const Argument& argument : timeline.argumentsOf(event)) {
        if (argument.key == *key) steps.insert(event.step);
      }
    }
  }
  return {steps.begin(), steps.end()};
}

}  // namespace pipetrace
