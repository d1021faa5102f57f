#include "profiler/held_jobs.h"

#include <algorithm>
#include <limits>

namespace pipetrace {
namespace {

bool isEarlier(const TimedJob& a, const TimedJob& b) {
  return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
}

}  // namespace

void HeldJobs::add(const TimedJob& job, Nanoseconds now) {
  const auto [place, isNew] = steps_.try_emplace(job.job.step);
  if (isNew) place->second.firstAdded = now;
  place->second.jobs.push_back(job);
}

void HeldJobs::takeUpTo(std::int32_t step, std::vector<TimedJob>& out) {
  while (!steps_.empty() && steps_.begin()->first <= step) {
    std::vector<TimedJob>& jobs = steps_.begin()->second.jobs;
    std::stable_sort(jobs.begin(), jobs.end(), isEarlier);
    out.insert(out.end(), jobs.begin(), jobs.end());
    steps_.erase(steps_.begin());
  }
}

void HeldJobs::takeOlderThan(Nanoseconds time, std::vector<TimedJob>& out) {
  for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) {
    if (step->second.firstAdded <= time) {
      takeUpTo(step->first, out);
      return;
    }
  }
}

void HeldJobs::takeAll(std::vector<TimedJob>& out) {
  takeUpTo(std::numeric_limits<std::int32_t>::max(), out);
}

}  // namespace pipetrace
