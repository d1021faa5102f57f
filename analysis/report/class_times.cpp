#include "analysis/report/class_times.h"

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
  std::map<std::int32_t, std::vector<const Track*>> tracks;  // with jobs of the stage
  for (const Track& track : timeline.tracks) {
    std::int32_t latest = kNotGiven;
    for (const Event& job : track.events) {
      if (job.stage == latest || job.stage < 0 || !isCompute(job.kind)) continue;
      latest = job.stage;
      std::vector<const Track*>& list = tracks[latest];
      if (list.empty() || list.back() != &track) list.push_back(&track);
    }
  }
  // Stage by stage: the lengths of all jobs at once would take an eighth of the run's memory.
  std::vector<StageTimes> stages;
  for (const auto& [stage, list] : tracks) {
    StageTimes& times = stages.emplace_back();
    times.stage = stage;
    const auto visit = [&](const auto& use) {
      for (const Track* const track : list) {
        for (const Event& job : track->events) {
          if (job.stage == stage && isCompute(job.kind)) use(job);
        }
      }
    };
    for (const Track* const track : list) {
      if (times.ranks.empty() || times.ranks.back() != track->rank) {
        times.ranks.push_back(track->rank);
      }
    }
    std::map<JobKind, std::size_t> counts;
    visit([&](const Event& job) { ++counts[job.kind]; });
    std::map<JobKind, std::vector<Nanoseconds>> durations;
    for (const auto& [kind, count] : counts) durations[kind].reserve(count);
    visit([&](const Event& job) { durations[job.kind].push_back(job.duration()); });
    for (auto& [kind, values] : durations) times.medians.emplace_back(kind, medianOf(values));
  }
  return stages;
}

}  // namespace pipetrace
