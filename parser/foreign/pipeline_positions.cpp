#include "parser/foreign/pipeline_positions.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "trace/job_kind.h"

namespace pipetrace {
namespace {

Nanoseconds medianOf(std::vector<Nanoseconds> times) {
  const auto middle = times.begin() + std::ssize(times) / 2;
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

/// The time between two others; 0 where that is negative, or too long to be added up.
Nanoseconds between(Nanoseconds from, Nanoseconds to) {
  Nanoseconds time = 0;
  if (__builtin_sub_overflow(to, from, &time) || time < 0 || time > kNsMax / 4) return 0;
  return time;
}

/// What the jobs of a position show, in the median of its ranks' steps.
struct Position {
  int warmUp = 0;    ///< forwards before the first backward
  int forwards = 0;  ///< of a step
  /// From the end of the first backward's forward, and from that of the last forward before it, to
  /// its begin.
  Nanoseconds sinceItsForward = 0;
  Nanoseconds sinceForwards = 0;
  Nanoseconds pass = 0;  ///< a forward and a backward
};

/// Nothing for a rank without a step that has forwards and backwards.
std::optional<Position> positionOf(const std::vector<Event>& events) {
  std::map<std::int32_t, std::vector<const Event*>> steps;
  std::vector<Nanoseconds> forwards;
  std::vector<Nanoseconds> backwards;
  for (const Event& event : events) {
    const bool isForward = event.kind == JobKind::kForward;
    if (event.step == kNotGiven || (!isForward && event.kind != JobKind::kBackward)) continue;
    steps[event.step].push_back(&event);
    (isForward ? forwards : backwards).push_back(between(event.begin, event.end));
  }
  if (forwards.empty() || backwards.empty()) return std::nullopt;
  std::map<int, int> warmUps;  // how often each is there
  Position found;
  std::vector<Nanoseconds> sinceIts;
  std::vector<Nanoseconds> since;
  for (auto& [step, jobs] : steps) {
    std::sort(jobs.begin(), jobs.end(),
              [](const Event* a, const Event* b) { return a->begin < b->begin; });
    const auto first = std::find_if(
        jobs.begin(), jobs.end(), [](const Event* job) { return job->kind == JobKind::kBackward; });
    if (first == jobs.begin() || first == jobs.end()) continue;
    const auto its = std::find_if(jobs.begin(), first, [&](const Event* job) {
      return job->microBatch == (*first)->microBatch && job->chunk == (*first)->chunk;
    });
    if (its == first) continue;
    ++warmUps[static_cast<int>(first - jobs.begin())];
    found.forwards = std::max(
        found.forwards, static_cast<int>(std::count_if(jobs.begin(), jobs.end(), [](const auto* j) {
          return j->kind == JobKind::kForward;
        })));
    sinceIts.push_back(between((*its)->end, (*first)->begin));
    since.push_back(between((*std::prev(first))->end, (*first)->begin));
  }
  if (since.empty()) return std::nullopt;
  found.warmUp = std::max_element(warmUps.begin(), warmUps.end(), [](const auto& a, const auto& b) {
                   return a.second < b.second;
                 })->first;
  found.sinceItsForward = medianOf(std::move(sinceIts));
  found.sinceForwards = medianOf(std::move(since));
  found.pass = medianOf(std::move(forwards)) + medianOf(std::move(backwards));
  return found;
}

/// How many positions there may be by the forwards before first backwards. 1F1B of Megatron-LM
/// (schedules.py, get_pp_rank_microbatches) has p − r of them at position r of p, with v chunks
/// (v + 1)p − 2r − 1; eager 1F1B 2(p − r) − 1. None where they do not tell, as where all forwards
/// come first.
std::vector<int> depthsByOrder(const std::map<int, Position>& positions, int chunks) {
  std::vector<std::pair<int, int>> shown;  // position, forwards
  for (const auto& [number, each] : positions) {
    if (each.warmUp < each.forwards) shown.emplace_back(number, each.warmUp);
  }
  std::vector<int> depths;
  if (shown.empty()) return depths;
  const auto [last, warmUp] = shown.back();
  const auto addIfAlike = [&](int fewer, int depth) {  // by how many the next position has fewer
    const bool areAlike = std::all_of(shown.begin(), shown.end(), [&](const auto& each) {
      return each.second == warmUp + fewer * (last - each.first);
    });
    if (areAlike) depths.push_back(depth);
  };
  if (chunks > 1) {
    const int all = warmUp + 2 * last + 1;
    if (all % (chunks + 1) == 0) addIfAlike(2, all / (chunks + 1));
    return depths;
  }
  for (const int fewer : {1, 2}) {
    if ((warmUp - 1) % fewer == 0) addIfAlike(fewer, last + 1 + (warmUp - 1) / fewer);
  }
  return depths;
}

/// How many positions of the pipeline come after the last one that has a file. Those that do hold
/// up its first backward by a forward and a backward each.
int laterPositions(const std::map<int, Position>& positions, int chunks) {
  constexpr double kLeastHeldUp = 0.6;  // of what they should, as stages differ
  constexpr double kMostOff = 0.2;
  const auto& [last, shown] = *positions.rbegin();
  if (shown.pass <= 0) return 0;
  const auto passes = [&](Nanoseconds time) {
    return static_cast<double>(time) / static_cast<double>(shown.pass);
  };
  const std::vector<int> depths = depthsByOrder(positions, chunks);
  for (const int depth : depths) {
    const int later = depth - last - 1;
    if (later > 0 && passes(shown.sinceItsForward) > kLeastHeldUp * later) return later;
  }
  // Other things may hold it up as well. That files are missing is known where others are.
  const bool lacksOthers = std::ssize(positions) <= last;
  if (!lacksOthers || !depths.empty() || shown.warmUp < shown.forwards) return 0;
  // Where all forwards come first the last one counts; with few micro-batches 1F1B looks like that.
  for (const Nanoseconds since : {shown.sinceForwards, shown.sinceItsForward}) {
    const double later = std::round(passes(since));
    if (later > 0 && std::abs(passes(since) - later) <= kMostOff * later) {
      return static_cast<int>(later);
    }
  }
  return 0;
}

}  // namespace

void giveVirtualStages(const LanesOfRanks& lanes, Timeline& timeline) {
  std::int64_t depth = 0;
  int chunks = 1;
  std::int32_t lastMicroBatch = kNotGiven;
  std::map<int, int> positions;  // by rank
  std::map<int, Position> shown;
  for (const auto& [rank, events] : lanes) {
    for (const Event& event : *events) {
      depth = std::max(depth, std::int64_t{event.stage} + 1);
      chunks = std::max(chunks, event.chunk + 1);
      lastMicroBatch = std::max(lastMicroBatch, event.microBatch);
      if (event.stage != kNotGiven) positions.emplace(rank, event.stage);
    }
    const auto position = positions.find(rank);
    const auto jobs = position == positions.end() ? std::nullopt : positionOf(*events);
    if (jobs) shown.emplace(position->second, *jobs);
  }
  if (depth == 0 || depth > kMostPositions) return;
  const bool isLastShown = !shown.empty() && shown.rbegin()->first + 1 == depth;
  if (isLastShown) depth = std::min(depth + laterPositions(shown, chunks), kMostPositions);
  const int positionCount = static_cast<int>(depth);
  for (const auto& [rank, events] : lanes) {
    for (Event& event : *events) {
      if (event.stage == kNotGiven) continue;
      if (event.chunk == kNotGiven && chunks == 1) event.chunk = 0;
      event.stage =
          event.chunk == kNotGiven ? kNotGiven : event.chunk * positionCount + event.stage;
    }
  }
  const bool areInARow = std::all_of(positions.begin(), positions.end(), [&](const auto& each) {
    return each.first % positionCount == each.second;
  });
  std::map<int, int> replicas;  // by position
  for (const auto& [rank, position] : positions) {
    RankInfo& info = timeline.ranks[rank];
    info.rank = rank;
    info.numStages = positionCount * chunks;
    info.numChunks = chunks;
    if (lastMicroBatch >= 0 && lastMicroBatch < kMostMicroBatches) {
      info.numMicroBatches = lastMicroBatch + 1;
    }
    const int next = areInARow ? rank / positionCount : replicas[position]++;
    if (!info.dataParallelIndex) info.dataParallelIndex = next;
  }
}

}  // namespace pipetrace
