#include "profiler/log/held_jobs.h"

#include <algorithm>
#include <limits>

namespace pipetrace {
namespace {

bool isEarlier(const TimedJob& a, const TimedJob& b) {
  return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
}

/// std::merge() without a branch that depends on the jobs: which of two streams goes on cannot be
/// predicted, and a wrong prediction costs more than the rest of the round.
TimedJob* merge(const TimedJob* a, const TimedJob* aEnd, const TimedJob* b, const TimedJob* bEnd,
                TimedJob* out) {
  while (a != aEnd && b != bEnd) {
    const bool takesB = (b->begin < a->begin) | ((b->begin == a->begin) & (b->end < a->end));
    const TimedJob* const next = takesB ? b : a;
    *out++ = *next;
    b += takesB ? 1 : 0;
    a += takesB ? 0 : 1;
  }
  return std::copy(b, bEnd, std::copy(a, aEnd, out));
}

}  // namespace

/// Merges each two neighbouring stretches of `from` into one of `to`.
void HeldJobs::mergePairs(const std::vector<TimedJob>& from, std::vector<TimedJob>& to) {
  to.resize(from.size());
  const TimedJob* const jobs = from.data();
  TimedJob* out = to.data();
  std::size_t kept = 0;
  const std::size_t last = runs_.size() - 1;
  for (std::size_t i = 0; i < last; i += 2) {
    const std::size_t middle = runs_[i + 1];
    const std::size_t end = runs_[std::min(i + 2, last)];
    out = merge(jobs + runs_[i], jobs + middle, jobs + middle, jobs + end, out);
    runs_[kept++] = runs_[i];
  }
  runs_[kept++] = from.size();
  runs_.resize(kept);
}

/// Each stream's jobs come in order, so there are few, long, sorted stretches.
void HeldJobs::sort(std::vector<TimedJob>& jobs) {
  runs_.assign(1, 0);
  for (std::size_t i = 1; i < jobs.size(); ++i) {
    if (isEarlier(jobs[i], jobs[i - 1])) runs_.push_back(i);
  }
  runs_.push_back(jobs.size());
  while (runs_.size() > 2) {
    mergePairs(jobs, merged_);
    jobs.swap(merged_);
  }
}

void HeldJobs::beginStep(std::int32_t step, Nanoseconds now) {
  const auto [place, isNew] = steps_.try_emplace(step);
  if (isNew) {
    place->second.firstAdded = now;
    place->second.jobs.swap(spare_);
  }
  last_ = &place->second.jobs;
  lastStep_ = step;
}

void HeldJobs::takeUpTo(std::int32_t step, std::vector<TimedJob>& out) {
  last_ = nullptr;
  while (!steps_.empty() && steps_.begin()->first <= step) {
    std::vector<TimedJob>& jobs = steps_.begin()->second.jobs;
    sort(jobs);
    if (out.empty()) {
      out.swap(jobs);
    } else {
      out.insert(out.end(), jobs.begin(), jobs.end());
    }
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
