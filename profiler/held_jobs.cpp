#include "profiler/held_jobs.h"

#include <algorithm>
#include <limits>

namespace pipetrace {
namespace {

bool isEarlier(const TimedJob& a, const TimedJob& b) {
  return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
}

/// Appends `jobs` in the order of their begins.
void appendSorted(const std::vector<TimedJob>& jobs, std::vector<TimedJob>& out) {
  if (std::is_sorted(jobs.begin(), jobs.end(), isEarlier)) {  // of one lane, as it is most often
    out.insert(out.end(), jobs.begin(), jobs.end());
    return;
  }
  std::vector<const TimedJob*> order;  // much less to move about
  order.reserve(jobs.size());
  for (const TimedJob& job : jobs) order.push_back(&job);
  std::stable_sort(order.begin(), order.end(),
                   [](const TimedJob* a, const TimedJob* b) { return isEarlier(*a, *b); });
  for (const TimedJob* job : order) out.push_back(*job);
}

}  // namespace

void HeldJobs::add(const TimedJob& job, Nanoseconds now) {
  const auto [place, isNew] = steps_.try_emplace(job.job.step);
  if (isNew) {
    place->second.firstAdded = now;
    place->second.jobs.swap(spare_);
  }
  place->second.jobs.push_back(job);
}

void HeldJobs::takeUpTo(std::int32_t step, std::vector<TimedJob>& out) {
  while (!steps_.empty() && steps_.begin()->first <= step) {
    std::vector<TimedJob>& jobs = steps_.begin()->second.jobs;
    appendSorted(jobs, out);
    jobs.clear();
    if (jobs.capacity() > spare_.capacity()) spare_.swap(jobs);
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
