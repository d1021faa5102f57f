#include "analysis/report/class_times.h"

#include <set>

#include "analysis/median.h"

namespace pipetrace {

std::map<int, ClassTimes> classTimesOf(const Timeline& timeline) {
  std::map<int, ClassTimes> times;
  for (const Track& track : timeline.tracks) {
    if (track.lane != kBubbleLane) continue;
    ClassTimes& ofRank = times[track.rank];
    for (const Event& bubble : track.events) {
      ofRank[static_cast<std::size_t>(bubble.bubbleClass)] += bubble.duration();
    }
  }
  return times;
}

Nanoseconds StageTimes::sum() const {
  Nanoseconds sum = 0;
  for (const auto& [kind, median] : medians) sum += median;
  return sum;
}

std::vector<StageTimes> stageTimesOf(const Timeline& timeline) {
  std::map<std::pair<std::int32_t, JobKind>, std::vector<Nanoseconds>> durations;
  std::map<std::int32_t, std::set<int>> ranks;
  for (const Track& track : timeline.tracks) {
    std::pair<std::int32_t, JobKind> latest{kNotGiven, JobKind::kOther};
    std::vector<Nanoseconds>* list = nullptr;
    for (const Event& job : track.events) {
      if (!isCompute(job.kind) || job.stage < 0) continue;
      if (list == nullptr || latest != std::pair{job.stage, job.kind}) {
        latest = {job.stage, job.kind};
        list = &durations[latest];
        ranks[job.stage].insert(track.rank);
      }
      list->push_back(job.duration());
    }
  }
  std::vector<StageTimes> stages;
  for (auto& [key, values] : durations) {
    if (stages.empty() || stages.back().stage != key.first) {
      const std::set<int>& of = ranks.at(key.first);
      stages.push_back({.stage = key.first, .ranks = {of.begin(), of.end()}});
    }
    stages.back().medians.emplace_back(key.second, medianOf(values));
  }
  return stages;
}

}  // namespace pipetrace
