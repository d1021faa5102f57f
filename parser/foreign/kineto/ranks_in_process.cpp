#include "parser/foreign/kineto/ranks_in_process.h"

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
  for (const auto& [stage, place] : ofStage) ranks_.try_emplace(place, 0);
  if (ranks_.size() < 2) return ranks_.clear();
  const auto count = static_cast<int>(ranks_.size());
  if (rank > kHighestRank / count - 1) return ranks_.clear();
  rank_ = rank * count;
  int next = rank_;
  for (auto& [place, number] : ranks_) number = next++;
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
