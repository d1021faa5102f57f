#include "parser/device_time/ranks_in_process.h"

#include <algorithm>
#include <set>
#include <utility>

#include "trace/job_kind.h"

namespace pipetrace {

bool doOverlap(std::vector<Timeline::Span> spans) {
  constexpr Nanoseconds kPart = 100;
  std::sort(spans.begin(), spans.end(),
            [](const auto& a, const auto& b) { return a.begin < b.begin; });
  Nanoseconds all = 0;
  Nanoseconds hidden = 0;
  Nanoseconds upTo = kNsMin;
  for (const Timeline::Span& span : spans) {
    all += span.end - span.begin;
    if (upTo > span.begin) hidden += std::min(upTo, span.end) - span.begin;
    upTo = std::max(upTo, span.end);
  }
  return hidden > all / kPart;
}

std::string ranksInProcessNote(bool areDevices, int first, int last) {
  return std::string(areDevices ? "devices" : "threads") +
         " of one process whose jobs run at the same time are taken for ranks " +
         std::to_string(first) + " to " + std::to_string(last) + ", in the order of their numbers";
}

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
  const int last = first + static_cast<int>(ranks_.size()) - 1;
  return ranksInProcessNote(ranks_.begin()->first.isDevice, first, last);
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
