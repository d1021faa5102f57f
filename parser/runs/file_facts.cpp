#include "parser/runs/file_facts.h"

#include <algorithm>
#include <vector>

#include "trace/threads/in_parallel.h"

namespace pipetrace {
namespace {

void extend(Timeline::Span& span, const Timeline::Span& by) {
  span.begin = std::min(span.begin, by.begin);
  span.end = std::max(span.end, by.end);
}

struct TrackFacts {
  Timeline::Span span{kNsMax, kNsMin};
  std::int32_t firstStep = kNotGiven;
  std::int32_t lastStep = kNotGiven;
  bool hasForward = false;
  bool hasBackward = false;
};

TrackFacts factsOf(const std::vector<Event>& events) {
  TrackFacts facts;
  for (const Event& event : events) {
    extend(facts.span, {event.begin, event.end});
    if (event.step != kNotGiven) {
      if (facts.firstStep == kNotGiven) facts.firstStep = event.step;
      facts.firstStep = std::min(facts.firstStep, event.step);
      facts.lastStep = std::max(facts.lastStep, event.step);
    }
    const bool isForward = event.kind == JobKind::kForward;
    facts.hasForward = facts.hasForward || isForward;
    facts.hasBackward = facts.hasBackward || (isCompute(event.kind) && !isForward);
  }
  return facts;
}

/// The offset of a rank's clock from rank 0's; 0 where it was not compared.
Nanoseconds offsetOf(const Timeline& timeline, int rank) {
  const auto info = timeline.ranks.find(rank);
  if (rank == 0 || info == timeline.ranks.end() || info->second.clockReadings.empty()) return 0;
  return info->second.clockReadings.front().offset;
}

Timeline::Span moved(Timeline::Span span, Nanoseconds by) {
  Timeline::Span result;
  const bool isOut = __builtin_add_overflow(span.begin, by, &result.begin) ||
                     __builtin_add_overflow(span.end, by, &result.end);
  return isOut ? span : result;
}

void addRankInfo(const RankInfo& info, FileFacts& facts) {
  if (!facts.worldSize && info.worldSize.value_or(0) > 0) facts.worldSize = info.worldSize;
  if (facts.host.empty()) facts.host = info.host;
  facts.isRecording = facts.isRecording || info.isRecording;
}

}  // namespace

bool FileFacts::isDated() const {
  constexpr Nanoseconds kYear2001 = 978'307'200 * kNsPerSecond;
  return span.begin <= span.end && span.begin >= kYear2001;
}

bool areApart(const Timeline::Span& a, const Timeline::Span& b) {
  return a.begin != b.begin && (a.end <= b.begin || b.end <= a.begin);
}

FileFacts factsOf(const Timeline& timeline, int threads) {
  constexpr std::size_t kWorthThreads = std::size_t{1} << 20;
  if (timeline.eventCount() < kWorthThreads) threads = 1;
  std::vector<TrackFacts> tracks(timeline.tracks.size());
  inParallel(threads, tracks.size(),
             [&](std::size_t i) { tracks[i] = factsOf(timeline.tracks[i].events); });
  FileFacts facts;
  for (std::size_t i = 0; i < tracks.size(); ++i) {
    const TrackFacts& track = tracks[i];
    if (timeline.tracks[i].events.empty()) continue;
    const int rank = timeline.tracks[i].rank;
    const auto [span, isNew] = facts.ranks.try_emplace(rank, track.span);
    if (!isNew) extend(span->second, track.span);
    facts.events += static_cast<std::int64_t>(timeline.tracks[i].events.size());
    facts.hasForward = facts.hasForward || track.hasForward;
    facts.hasBackward = facts.hasBackward || track.hasBackward;
    if (track.firstStep == kNotGiven) continue;
    if (facts.firstStep == kNotGiven) facts.firstStep = track.firstStep;
    facts.firstStep = std::min(facts.firstStep, track.firstStep);
    facts.lastStep = std::max(facts.lastStep, track.lastStep);
  }
  for (auto& [rank, span] : facts.ranks) {
    span = moved(span, offsetOf(timeline, rank));
    extend(facts.span, span);
  }
  for (const auto& [rank, info] : timeline.ranks) addRankInfo(info, facts);
  return facts;
}

}  // namespace pipetrace
