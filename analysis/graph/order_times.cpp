#include "analysis/graph/order_times.h"

#include <algorithm>

namespace pipetrace {

OrderTimes::OrderTimes(const JobGraph& graph, const StepJobs& jobs)
    : graph_(graph), jobs_(jobs), at_(jobs.rankCount()), free_(jobs.rankCount()) {
  // The ranks of a pipeline follow each other, and so do their jobs.
  JobGraph::Id last = 0;
  firstJob_ = ~JobGraph::Id{0};
  for (const std::uint32_t rank : jobs.ranks()) {
    firstJob_ = std::min(firstJob_, graph.ranks()[rank].first);
    last = std::max(last, graph.ranks()[rank].end);
  }
  ends_.assign(last - std::min(firstJob_, last), -1);
}

void OrderTimes::start(std::size_t step) {
  step_ = step;
  position_ = 0;
  isDone_ = jobs_.jobs(step).empty();
  std::fill(at_.begin(), at_.end(), 0);
  std::fill(free_.begin(), free_.end(), 0);
  for (const JobGraph::Id job : jobs_.jobs(step)) ends_[job - firstJob_] = -1;
}

bool OrderTimes::isReady(std::size_t position, JobGraph::Id job) {
  ready_ = free_[position];
  const std::int32_t step = jobs_.stepOf(job);
  for (int i = 0; i < 2; ++i) {
    const JobGraph::Id producer = graph_.producer(job, i);
    if (producer == JobGraph::kNone || jobs_.stepOf(producer) != step) continue;
    const Nanoseconds end = ends_[producer - firstJob_];
    if (end < 0) return false;
    ready_ = std::max(ready_, end);
  }
  return true;
}

/// The rank to look at after `tries` others: from that of the last job outwards, on both sides. A
/// job mostly lets its own rank or one beside it go on.
std::size_t OrderTimes::near(std::size_t tries) const {
  const std::size_t count = jobs_.rankCount();
  const std::size_t away = (tries + 1) / 2;
  const std::size_t place = position_ + (tries % 2 == 1 ? away : count - away);
  return place < count ? place : place - count;
}

/// The next job that can run; ready_ becomes its begin.
OrderTimes::Head OrderTimes::next() {
  const std::size_t count = jobs_.rankCount();
  for (std::size_t tries = 0; tries < count; ++tries) {
    const std::size_t position = near(tries);
    const auto jobs = jobs_.jobs(step_, position);
    if (at_[position] == jobs.size() || !isReady(position, jobs[at_[position]])) continue;
    position_ = position;
    return {position, jobs[at_[position]]};
  }
  // None can: all are done, or they wait for each other.
  Head first;
  const Event* earliest = nullptr;
  for (std::size_t p = 0; p < count; ++p) {
    const auto jobs = jobs_.jobs(step_, p);
    if (at_[p] == jobs.size()) continue;
    const Event* const job = graph_.node(jobs[at_[p]]).event;
    if (earliest != nullptr && job->begin >= earliest->begin) continue;
    earliest = job;
    first = {p, jobs[at_[p]]};
  }
  isDone_ = earliest == nullptr;
  position_ = first.position;
  ready_ = free_[position_];
  return first;
}

void OrderTimes::finish(const Head& head, Nanoseconds end) {
  ends_[head.job - firstJob_] = end;
  free_[head.position] = end;
  ++at_[head.position];
}

Nanoseconds OrderTimes::length() const {
  return free_.empty() ? 0 : *std::max_element(free_.begin(), free_.end());
}

}  // namespace pipetrace
