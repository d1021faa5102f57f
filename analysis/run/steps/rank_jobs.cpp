#include "analysis/run/steps/rank_jobs.h"

#include <algorithm>

#include "trace/timeline.h"

namespace pipetrace {

RankJobs::RankJobs(const Timeline& timeline, int rank, bool (*isWanted)(JobKind))
    : isWanted_(isWanted) {
  for (const Track& track : tracksOf(timeline, rank)) {
    const Event* const begin = track.events.data();
    Lane lane{begin, begin + track.events.size(), lanes_.size()};
    skipUnwanted(lane);
    if (lane.at != lane.end) lanes_.push_back(lane);
  }
  std::make_heap(lanes_.begin(), lanes_.end(), comesLater);
}

bool RankJobs::comesLater(const Lane& a, const Lane& b) {
  if (startsBefore(*b.at, *a.at)) return true;
  return !startsBefore(*a.at, *b.at) && b.order < a.order;
}

const Event* RankJobs::nextOfSeveral() {
  if (lanes_.empty()) return nullptr;
  std::pop_heap(lanes_.begin(), lanes_.end(), comesLater);
  Lane& lane = lanes_.back();
  const Event* const job = lane.at++;
  skipUnwanted(lane);
  if (lane.at == lane.end) {
    lanes_.pop_back();
  } else {
    std::push_heap(lanes_.begin(), lanes_.end(), comesLater);
  }
  return job;
}

}  // namespace pipetrace
