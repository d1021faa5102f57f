#include "apps/pipe_run/job_lateness.h"

#include <algorithm>
#include <map>
#include <utility>

namespace pipetrace {

JobLateness latenessOf(const Timeline& run, Nanoseconds tolerance) {
  std::map<std::pair<int, std::int64_t>, Nanoseconds> received;  // by rank and job
  for (const Track& track : run.tracks) {
    for (const Event& event : track.events) {
      if (!isRecv(event.kind)) continue;
      Nanoseconds& end = received.try_emplace({track.rank, event.job}, kNsMin).first->second;
      end = std::max(end, event.end);
    }
  }
  JobLateness lateness;
  for (const Track& track : run.tracks) {
    if (track.lane != kComputeLane) continue;
    Nanoseconds before = kNsMin;
    for (const Event& job : track.events) {
      Nanoseconds inputs = before;
      before = job.end;
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
