#include "analysis/present/class_times.h"

#include "analysis/median.h"
#include "trace/threads/in_parallel.h"

namespace pipetrace {
namespace {

bool hasMedian(const Event& event, Phase phase) {
  return event.stage >= 0 && event.phase == phase &&
         (isCompute(event.kind) || isTransfer(event.kind) || isCollective(event.kind) ||
          event.kind == JobKind::kOptimizer);
}

}  // namespace

std::map<int, ClassTimes> classTimesOf(const Timeline& timeline, int threads) {
  const Phase phase = countedPhaseOf(timeline);
  std::vector<ClassTimes> ofTracks(timeline.tracks.size());
  inParallel(threads, ofTracks.size(), [&](std::size_t t) {
    if (timeline.tracks[t].lane != kBubbleLane) return;
    ClassTimes sums{};
    for (const Event& bubble : timeline.tracks[t].events) {
      if (bubble.phase != phase) continue;
      sums[static_cast<std::size_t>(bubble.bubbleClass)] += bubble.duration();
    }
    ofTracks[t] = sums;
  });
  std::map<int, ClassTimes> times;
  for (std::size_t t = 0; t < ofTracks.size(); ++t) {
    if (timeline.tracks[t].lane != kBubbleLane) continue;
    ClassTimes& ofRank = times[timeline.tracks[t].rank];
    for (std::size_t c = 0; c < ofRank.size(); ++c) ofRank[c] += ofTracks[t][c];
  }
  return times;
}

Nanoseconds StageTimes::sum() const {
  Nanoseconds sum = 0;
  for (const auto& [kind, median] : medians) sum += median;
  return sum;
}

std::vector<StageTimes> stageTimesOf(const Timeline& timeline, int threads) {
  using Counts = std::map<std::pair<std::int32_t, JobKind>, std::size_t>;  // by stage and kind
  const Phase phase = countedPhaseOf(timeline);
  std::vector<Counts> ofTracks(timeline.tracks.size());
  inParallel(threads, ofTracks.size(), [&](std::size_t t) {
    const Track& track = timeline.tracks[t];
    if (track.lane == kBubbleLane) return;
    auto latest = ofTracks[t].end();
    for (const Event& job : track.events) {
      if (!hasMedian(job, phase)) continue;
      const std::pair key(job.stage, job.kind);
      if (latest == ofTracks[t].end() || latest->first != key) {
        latest = ofTracks[t].try_emplace(key).first;
      }
      ++latest->second;
    }
  });
  std::map<std::int32_t, std::map<JobKind, std::size_t>> counts;
  for (const Counts& each : ofTracks) {
    for (const auto& [key, count] : each) counts[key.first][key.second] += count;
  }
  std::vector<StageTimes> stages;
  for (const auto& [stage, kinds] : counts) stages.emplace_back().stage = stage;
  // Stage by stage: the lengths of all jobs at once would take an eighth of the run's memory.
  inParallel(threads, stages.size(), [&](std::size_t s) {
    StageTimes& times = stages[s];
    std::map<JobKind, std::vector<Nanoseconds>> durations;
    for (const auto& [kind, count] : counts.at(times.stage)) durations[kind].reserve(count);
    for (std::size_t t = 0; t < ofTracks.size(); ++t) {
      const Track& track = timeline.tracks[t];
      const auto first = ofTracks[t].lower_bound({times.stage, JobKind{}});
      if (first == ofTracks[t].end() || first->first.first != times.stage) continue;
      if (times.ranks.empty() || times.ranks.back() != track.rank) {
        times.ranks.push_back(track.rank);
      }
      for (const Event& job : track.events) {
        if (job.stage != times.stage || !hasMedian(job, phase)) continue;
        durations[job.kind].push_back(job.duration());
      }
    }
    for (auto& [kind, values] : durations) {
      (isCompute(kind) ? times.medians : times.others).emplace_back(kind, medianOf(values));
    }
  });
  std::erase_if(stages, [](const StageTimes& stage) { return stage.medians.empty(); });
  return stages;
}

}  // namespace pipetrace
