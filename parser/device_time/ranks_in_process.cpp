#include "parser/device_time/ranks_in_process.h"

#include <set>
#include <utility>

#include "parser/device_time/overlap.h"
#include "trace/job_kind.h"

namespace pipetrace {

RanksInProcess::RanksInProcess(int rank, const std::vector<Event>& jobs,
                               const std::map<std::int64_t, Place>& placeOf)
    : rank_(rank) {
  std::map<std::int32_t, Place> ofStage;
  std::set<Place> places;
  std::set<Place> withForwards;
  std::set<Place> withBackwards;
  std::vector<Timeline::Span> spans;
  for (const Event& job : jobs) {
    const auto found = placeOf.find(job.job);
    if (!isCompute(job.kind) || found == placeOf.end()) continue;
    const Place& place = found->second;
    places.insert(place);
    (job.kind == JobKind::kForward ? withForwards : withBackwards).insert(place);
    const bool isNamed = job.stage != kNotGiven;
    if (isNamed && ofStage.try_emplace(job.stage, place).first->second != place) return;
    spans.push_back({job.begin, job.end});
  }
  const bool areNamed = !ofStage.empty();
  if (!areNamed && (withForwards != places || withBackwards != places)) return;
  if (!doOverlap(std::move(spans))) return;
  const auto count = static_cast<int>(places.size());
  int next = 0;
  if (count < 2 || __builtin_mul_overflow(rank, count, &next)) return;
  rank_ = next;
  for (const Place& place : places) ranks_[place] = next++;
  placeOf_ = placeOf;
}

std::string RanksInProcess::note(int first) const {
  return std::string(ranks_.begin()->first.isDevice ? "devices" : "threads") +
         " of one process whose jobs run at the same time are taken for ranks " +
         std::to_string(first) + " to " +
         std::to_string(first + static_cast<int>(ranks_.size()) - 1) +
         ", in the order of their numbers";
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
