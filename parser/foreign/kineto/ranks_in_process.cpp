#include "parser/foreign/kineto/ranks_in_process.h"

#include <set>
#include <utility>

#include "parser/foreign/overlap.h"
#include "trace/job_kind.h"

namespace pipetrace {
RanksInProcess::RanksInProcess(int rank, const std::vector<Event>& jobs,
                               const std::map<std::int64_t, Place>& placeOf)
    : rank_(rank) {
  std::map<std::int32_t, Place> ofStage;
  std::vector<Timeline::Span> spans;
  for (const Event& job : jobs) {
    const auto place = placeOf.find(job.job);
    if (!isCompute(job.kind) || place == placeOf.end()) continue;
    if (job.stage == kNotGiven) return;
    if (ofStage.try_emplace(job.stage, place->second).first->second != place->second) return;
    spans.push_back({job.begin, job.end});
  }
  if (!doOverlap(std::move(spans))) return;
  std::set<Place> places;
  for (const auto& [stage, place] : ofStage) places.insert(place);
  const auto count = static_cast<int>(places.size());
  if (count < 2 || rank > kHighestRank / count - 1) return;
  rank_ = rank * count;
  int next = rank_;
  for (const Place& place : places) ranks_[place] = next++;
  placeOf_ = placeOf;
}

int RanksInProcess::rankOfPlace(const Place& place) const {
  const auto found = ranks_.find(place);
  return found == ranks_.end() ? rank_ : found->second;
}

int RanksInProcess::rankOfJob(std::int64_t job) const {
  const auto found = placeOf_.find(job);
  return found == placeOf_.end() ? rank_ : rankOfPlace(found->second);
}

}  // namespace pipetrace
