#include "profiler/held_jobs.h"

#include <algorithm>
#include <limits>

namespace pipetrace {
namespace {

bool isEarlier(const TimedJob& a, const TimedJob& b) {
  return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
}

}  // namespace

void HeldJobs::appendSorted(std::vector<TimedJob>& jobs, std::vector<TimedJob>& out) {
  if (std::is_sorted(jobs.begin(), jobs.end(), isEarlier)) {  // of one lane, as it is most often
    if (out.empty()) {
      out.swap(jobs);
    } else {
      out.insert(out.end(), jobs.begin(), jobs.end());
    }
    return;
  }
  // What is compared lies side by side, and each job is moved once.
  order_.clear();
  for (const TimedJob& job : jobs) order_.push_back({job.begin, job.end, order_.size()});
  std::sort(order_.begin(), order_.end());
  for (const Place& place : order_) out.push_back(jobs[place.index]);
}

void HeldJobs::add(const TimedJob& job, Nanoseconds now) {
  if (last_ == nullptr || lastStep_ != job.job.step) {
    const auto [place, isNew] = steps_.try_emplace(job.job.step);
    if (isNew) {
      place->second.firstAdded = now;
      place->second.jobs.swap(spare_);
    }
    last_ = &place->second.jobs;
    lastStep_ = job.job.step;
  }
  last_->push_back(job);
}

void HeldJobs::takeUpTo(std::int32_t step, std::vector<TimedJob>& out) {
  last_ = nullptr;
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
