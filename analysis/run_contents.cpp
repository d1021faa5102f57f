#include "analysis/run_contents.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "trace/topology.h"

namespace pipetrace {
namespace {

bool isJob(const Track& track, const Event& event) {
  if (event.kind == JobKind::kBubble) return false;
  return track.lane == kComputeLane || isComputeLane(event.kind);
}

/// The value that all ranks give; nothing if one of them gives none or another one.
template <typename Get>
std::optional<int> agreedOn(const Timeline& timeline, const Get& get) {
  std::optional<int> agreed;
  for (const auto& [rank, info] : timeline.ranks) {
    const std::optional<int> said = get(info);
    if (!said || (agreed && agreed != said)) return std::nullopt;
    agreed = said;
  }
  return agreed;
}

std::optional<int> statedReplicas(const Timeline& timeline, const StatedTopology& topology) {
  const auto worldSize = agreedOn(timeline, [](const RankInfo& info) { return info.worldSize; });
  if (worldSize && topology.pipelineRanks) {
    const std::int64_t ranks =
        std::int64_t{*topology.pipelineRanks} * topology.tensorRanks.value_or(1);
    if (*worldSize % ranks == 0) return static_cast<int>(*worldSize / ranks);
  }
  std::set<int> replicas;
  for (const auto& [rank, info] : timeline.ranks) {
    if (!info.dataParallelIndex) return std::nullopt;
    replicas.insert(*info.dataParallelIndex);
  }
  if (replicas.empty()) return std::nullopt;
  return static_cast<int>(replicas.size());
}

/// The highest tensor-parallel index + 1, where all ranks have one.
std::optional<int> statedTensorRanks(const Timeline& timeline) {
  constexpr int kMost = 1'000'000;
  std::optional<int> count;
  for (const auto& [rank, info] : timeline.ranks) {
    const int index = info.tensorParallelIndex.value_or(-1);
    if (index < 0 || index >= kMost) return std::nullopt;
    count = std::max(count.value_or(0), index + 1);
  }
  return count;
}

StatedClock statedClock(const Timeline& timeline) {
  StatedClock clock;
  clock.aligned = true;
  for (const auto& [rank, info] : timeline.ranks) {
    const auto& known = clock.sources;
    if (!info.clock.empty() && std::find(known.begin(), known.end(), info.clock) == known.end()) {
      clock.sources.push_back(info.clock);
    }
    for (const ClockReading& reading : info.clockReadings) {
      clock.hasReadings = true;
      clock.bound = std::max(clock.bound, reading.bound);
      clock.aligned = clock.aligned && reading.offset == 0;
    }
  }
  clock.aligned = clock.aligned && clock.hasReadings;
  return clock;
}

}  // namespace

StatedTopology statedTopology(const Timeline& timeline) {
  StatedTopology topology;
  topology.chunks = agreedOn(timeline, [](const RankInfo& info) { return info.numChunks; });
  const auto stages = agreedOn(timeline, [](const RankInfo& info) { return info.numStages; });
  const auto worldSize = agreedOn(timeline, [](const RankInfo& info) { return info.worldSize; });
  if (topology.chunks && *topology.chunks < 1) topology.chunks.reset();
  if (!topology.chunks && stages && stages == worldSize) topology.chunks = 1;  // one stage per rank
  if (stages && topology.chunks && *stages >= 1 && *stages % *topology.chunks == 0) {
    topology.pipelineRanks = *stages / *topology.chunks;
  }
  topology.ranksOfStage = statedStageRanks(timeline);
  if (!topology.ranksOfStage.empty()) {
    int ranks = 0;
    for (const auto& ofStage : topology.ranksOfStage) ranks += static_cast<int>(ofStage.size());
    topology.pipelineRanks = ranks;
  }
  if (!topology.pipelineRanks) {
    topology.pipelineRanks = agreedOn(timeline, [](const RankInfo& info) {
      const std::vector<int> ranks = statedPipeline(info);
      return ranks.empty() ? std::optional<int>() : static_cast<int>(ranks.size());
    });
  }
  topology.tensorRanks = statedTensorRanks(timeline);
  topology.replicas = statedReplicas(timeline, topology);
  return topology;
}

RunContents contentsOf(const Timeline& timeline) {
  RunContents contents;
  std::set<int> ranks;
  std::set<std::int32_t> steps;
  std::map<Phase, std::set<std::int32_t>> ofPhases;
  std::int32_t lastStep = kNotGiven;
  for (const Track& track : timeline.tracks) {
    if (!track.events.empty()) ranks.insert(track.rank);
    contents.events += static_cast<std::int64_t>(track.events.size());
    for (const Event& event : track.events) {
      if (isJob(track, event)) ++contents.jobs;
      if (!isCompute(event.kind) || event.step == lastStep) continue;
      lastStep = event.step;
      if (lastStep == kNotGiven) continue;
      steps.insert(lastStep);
      if (event.phase != Phase::kTraining) ofPhases[event.phase].insert(lastStep);
    }
  }
  std::set<std::string> names;
  for (const CounterSeries& series : timeline.counters) {
    if (!series.samples.empty()) ranks.insert(series.rank);
    const auto count =
        std::count_if(series.samples.begin(), series.samples.end(),
                      [](const CounterSample& sample) { return std::isfinite(sample.value); });
    contents.counters += count;
    if (count > 0) names.insert(series.name);
  }
  contents.counterNames.assign(names.begin(), names.end());
  for (const auto& [rank, info] : timeline.ranks) {
    contents.runs = std::max<std::int64_t>(contents.runs, info.runs);
  }
  contents.ranks = static_cast<std::int64_t>(ranks.size());
  contents.steps = static_cast<std::int64_t>(steps.size());
  for (const auto& [phase, ofPhase] : ofPhases) {
    contents.stepsOfPhase[phase] = static_cast<std::int64_t>(ofPhase.size());
  }
  contents.span = timeline.span();
  contents.topology = statedTopology(timeline);
  contents.clock = statedClock(timeline);
  return contents;
}

}  // namespace pipetrace
