#include "parser/timeline_joiner.h"

#include <algorithm>

#include "parser/runs/file_facts.h"
#include "trace/append.h"

namespace pipetrace {
namespace {

Timeline::Span spanOf(const std::vector<Event>& events) {
  Timeline::Span span{kNsMax, kNsMin};
  for (const Event& event : events) {
    span.begin = std::min(span.begin, event.begin);
    span.end = std::max(span.end, event.end);
  }
  return span;
}

Timeline::Span spanOf(const std::vector<CounterSample>& samples) {
  Timeline::Span span{kNsMax, kNsMin};
  for (const CounterSample& sample : samples) {
    span.begin = std::min(span.begin, sample.time);
    span.end = std::max(span.end, sample.time);
  }
  return span;
}

template <typename Element>
bool areApart(const std::vector<Element>& a, const std::vector<Element>& b) {
  return areApart(spanOf(a), spanOf(b));
}

template <typename Clashes>
void note(Clashes& clashes, int rank, const std::string& other, const std::string& lane,
          std::size_t events) {
  auto& clash = clashes[{rank, other}];
  clash.lanes += (clash.lanes.empty() ? "" : ", ") + lane;
  clash.events += static_cast<std::int64_t>(events);
}

}  // namespace

int TimelineJoiner::nextRank() const {
  return timeline_.ranks.empty() ? 0 : timeline_.ranks.rbegin()->first + 1;
}

std::int64_t TimelineJoiner::addTrack(Track track, const std::string& file, Kind kind) {
  const auto count = static_cast<std::int64_t>(track.events.size());
  const auto [known, isNew] =
      tracks_.try_emplace({track.rank, track.lane}, Given{file, timeline_.tracks.size()});
  if (isNew) {
    timeline_.tracks.push_back(std::move(track));
    return count;
  }
  std::vector<Event>& events = timeline_.tracks[known->second.index].events;
  const bool isApart = kind != Kind::kLog && areApart(events, track.events);
  note(isApart ? putTogether_ : leftOut_, track.rank, known->second.file, track.lane,
       track.events.size());
  if (!isApart) return 0;
  events.insert(events.end(), track.events.begin(), track.events.end());
  return count;
}

void TimelineJoiner::addCounter(CounterSeries series, const std::string& file, Kind kind) {
  const auto [known, isNew] =
      counters_.try_emplace({series.rank, series.name}, Given{file, timeline_.counters.size()});
  if (isNew) {
    timeline_.counters.push_back(std::move(series));
    return;
  }
  std::vector<CounterSample>& samples = timeline_.counters[known->second.index].samples;
  const bool isApart = kind != Kind::kLog && areApart(samples, series.samples);
  note(isApart ? putTogether_ : leftOut_, series.rank, known->second.file, "counter " + series.name,
       series.samples.size());
  if (isApart) samples.insert(samples.end(), series.samples.begin(), series.samples.end());
}

void TimelineJoiner::report(const std::string& file, Diagnostics& diagnostics) {
  const auto say = [&](Severity severity, int rank, const std::string& other, const Clash& clash,
                       const char* what, const char* advice) {
    diagnostics.add({.severity = severity,
                     .file = file,
                     .message = "rank " + std::to_string(rank) + " was read from " + other +
                                " already: events here (" + clash.lanes + ") " + what,
                     .advice = advice,
                     .count = std::max<std::int64_t>(clash.events, 1)});
  };
  for (const auto& [key, clash] : leftOut_) {
    say(Severity::kWarning, key.first, key.second, clash, "were left out",
        "give each rank once; the first file counts");
  }
  for (const auto& [key, clash] : putTogether_) {
    say(Severity::kNote, key.first, key.second, clash,
        "are at other times and were put together with those", "");
  }
  leftOut_.clear();
  putTogether_.clear();
}

std::int64_t TimelineJoiner::add(Timeline part, const std::string& file, Kind kind,
                                 Diagnostics& diagnostics) {
  std::int64_t taken = 0;
  appendStringsAndArguments(part, timeline_);
  for (Track& track : part.tracks) {
    if (!track.events.empty()) taken += addTrack(std::move(track), file, kind);
  }
  for (CounterSeries& series : part.counters) addCounter(std::move(series), file, kind);
  for (auto& [rank, info] : part.ranks) timeline_.ranks.emplace(rank, std::move(info));
  if (kind == Kind::kProcess) putTogether_.clear();
  report(file, diagnostics);
  return taken;
}

}  // namespace pipetrace
