#include "apps/pipe_run/testing/job_lateness.h"

#include <algorithm>
#include <map>
#include <utility>

namespace pipetrace {

JobLateness latenessOf(const Timeline& run, Nanoseconds tolerance) {
  std::map<std::pair<int, std::int64_t>, Nanoseconds> received;  // by rank and job
  std::map<std::pair<int, std::int64_t>, Nanoseconds> sent;
  const auto takeLater = [](Nanoseconds time, Nanoseconds& latest) {
    latest = std::max(latest, time);
  };
  for (const Track& track : run.tracks) {
    for (const Event& event : track.events) {
      const std::pair key(track.rank, event.job);
      if (isRecv(event.kind)) takeLater(event.end, received.try_emplace(key, kNsMin).first->second);
      if (isSend(event.kind)) takeLater(event.begin, sent.try_emplace(key, kNsMin).first->second);
    }
  }
  JobLateness lateness;
  for (const Track& track : run.tracks) {
    if (track.lane != kComputeLane) continue;
    Nanoseconds before = kNsMin;
    for (const Event& job : track.events) {
      Nanoseconds inputs = before;
      before = job.end;
      if (const auto found = sent.find({track.rank, job.job}); found != sent.end()) {
        before = std::max(before, found->second);
      }
      if (!isCompute(job.kind)) continue;
      if (const auto found = received.find({track.rank, job.job}); found != received.end()) {
        inputs = std::max(inputs, found->second);
      }
      if (inputs == kNsMin) continue;
      ++lateness.jobs;
      lateness.late += job.begin > inputs + tolerance;
    }
  }
  return lateness;
}

}  // namespace pipetrace
