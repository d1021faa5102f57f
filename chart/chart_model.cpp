#include "chart/chart_model.h"

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <utility>

#include "trace/sub_lanes.h"
#include "trace/threads/in_parallel.h"

namespace pipetrace {
namespace {

bool overlaps(const std::vector<Event>& events) {
  for (std::size_t i = 1; i < events.size(); ++i) {
    if (events[i].begin < events[i - 1].end) return true;
  }
  return false;
}

std::vector<LaneIndex> indexOf(const std::vector<Event>& events, const JobColors& colors) {
  std::vector<LaneIndex> lanes;
  if (!overlaps(events)) {
    lanes.emplace_back(events, colors);
    return lanes;
  }
  const std::vector<std::uint32_t> laneOf = packSubLanes(events);
  std::vector<std::vector<std::uint32_t>> members(subLaneCount(laneOf));
  for (std::size_t i = 0; i < laneOf.size(); ++i) {
    members[laneOf[i]].push_back(static_cast<std::uint32_t>(i));
  }
  for (auto& lane : members) lanes.emplace_back(events, std::move(lane), colors);
  return lanes;
}

/// The quantile numerator / denominator of the values. Sorts a part of them.
Nanoseconds quantile(std::vector<Nanoseconds>& values, std::size_t numerator,
                     std::size_t denominator) {
  const auto at =
      values.begin() + static_cast<std::ptrdiff_t>(values.size() * numerator / denominator);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

}  // namespace

/// The contents of a track, as far as the model needs them.
struct ChartModel::TrackFacts {
  std::vector<LaneIndex> lanes;
  Timeline::Span span{kNsMax, kNsMin};
  std::int32_t largestMicroBatch = 0;
  std::int32_t largestStage = kNotGiven;
  bool computes = false;
  std::size_t transfers = 0;

  void find(const Track& track, const JobColors& colors) {
    lanes = indexOf(track.events, colors);
    for (const Event& event : track.events) {
      span.begin = std::min(span.begin, event.begin);
      span.end = std::max(span.end, event.end);
      largestMicroBatch = std::max(largestMicroBatch, event.microBatch);
      largestStage = std::max(largestStage, event.stage);
      computes = computes || isCompute(event.kind);
      if (isTransfer(event.kind) || isCollective(event.kind)) ++transfers;
    }
  }
};

/// Those that were asked for, and what they are made of.
struct ChartModel::RowTrees {
  std::mutex mutex;
  RunShape shape;
  std::array<std::optional<RowTree>, kRowGroupings> byGrouping;
};

ChartModel::ChartModel(ChartModel&& other) noexcept = default;
ChartModel& ChartModel::operator=(ChartModel&& other) noexcept = default;
ChartModel::~ChartModel() = default;

ChartModel::ChartModel(const Timeline& timeline, const Theme& theme)
    : ChartModel(timeline, topologyOf(timeline, 0), theme) {}

ChartModel::ChartModel(const Timeline& timeline, const Topology& topology, const Theme& theme)
    : timeline_(&timeline),
      legend_(legendOf(timeline)),
      colors_(std::make_unique<JobColors>(theme, chunksOf(legend_))),
      span_{kNsMax, kNsMin} {
  const std::vector<Track>& tracks = timeline.tracks;
  std::vector<TrackFacts> facts(tracks.size());
  RunShape shape;
  inParallel(0, tracks.size() + 1, [&](std::size_t i) {
    if (i == 0) {
      // Mostly on one core, so it begins first.
      const std::vector<StepWindow> windows = stepWindows(timeline, topology);
      steps_ = stepSpans(windows);
      countedPhase_ = countedPhaseOf(timeline);
      shape = runShapeOf(timeline, topology, windows);
    } else {
      facts[i - 1].find(tracks[i - 1], *colors_);
    }
  });
  for (std::size_t i = 0; i < tracks.size(); ++i) {
    if (tracks[i].lane == kComputeLane) {
      jobCount_ += tracks[i].events.size();
    } else if (tracks[i].lane != kBubbleLane) {
      transferCount_ += facts[i].transfers;
      operatorCount_ += tracks[i].events.size() - facts[i].transfers;
    }
    span_.begin = std::min(span_.begin, facts[i].span.begin);
    span_.end = std::max(span_.end, facts[i].span.end);
    largestMicroBatch_ = std::max(largestMicroBatch_, facts[i].largestMicroBatch);
    largestStage_ = std::max(largestStage_, facts[i].largestStage);
  }
  if (span_.begin > span_.end) span_ = {0, kNsPerMs};  // an empty chart still has an axis

  medianStep_ = medianDuration(steps_);
  measureJobs();
  for (std::size_t first = 0; first < tracks.size();) {
    std::size_t last = first + 1;
    while (last < tracks.size() && tracks[last].rank == tracks[first].rank) ++last;
    addRank(std::span(tracks).subspan(first, last - first),
            std::span(facts).subspan(first, last - first));
    first = last;
  }
  addTrees(shape);
}

void ChartModel::addTrees(const RunShape& shape) {
  for (const CounterSeries& series : timeline_->counters) counters_.emplace_back(series);
  std::map<int, std::string> details;
  for (const RankShape& rank : shape.ranks) details[rank.rank] = stagesText(rank.stages);
  for (ChartRow& row : rows_) {
    if (!row.rankLabel.empty()) row.rankDetail = rankDetail(row, details[row.rank]);
  }
  trees_ = std::make_unique<RowTrees>();
  trees_->shape = shape;
  rowTree(RowGrouping::kByRank);
}

const RowTree& ChartModel::rowTree(RowGrouping grouping) const {
  const std::lock_guard lock(trees_->mutex);
  std::optional<RowTree>& tree = trees_->byGrouping[static_cast<std::size_t>(grouping)];
  if (!tree) tree.emplace(rows_, counters_, trees_->shape, grouping);
  return *tree;
}

void ChartModel::setTheme(const Theme& theme) {
  loads_ = LoadCache();  // its thread reads lanes, and its sums have the old colours
  *colors_ = JobColors(theme, colors_->chunks());
  std::vector<LaneIndex*> lanes;
  for (ChartRow& row : rows_) {
    for (LaneIndex& lane : row.lanes) lanes.push_back(&lane);
    for (LaneIndex& lane : row.bubbles) lanes.push_back(&lane);
  }
  // The longest first, so that no thread is left with one of them at the end.
  std::sort(lanes.begin(), lanes.end(),
            [](const LaneIndex* a, const LaneIndex* b) { return a->size() > b->size(); });
  inParallel(0, lanes.size(), [&](std::size_t i) { lanes[i]->recolor(); });
}

ChartModel::IndexedBubbles ChartModel::indexed(const std::vector<Track>& bubbles) {
  // Another thread may give the model another theme meanwhile; add() looks after that.
  static const JobColors kColors(themeOf(ThemeName::kPaper));
  std::vector<std::vector<LaneIndex>> lanes(bubbles.size());
  inParallel(0, bubbles.size(),
             [&](std::size_t i) { lanes[i] = indexOf(bubbles[i].events, kColors); });
  IndexedBubbles result;
  for (std::size_t i = 0; i < bubbles.size(); ++i) {
    result.byRank[bubbles[i].rank] = std::move(lanes[i]);
  }
  result.legend = legendOfBubbles(bubbles);
  return result;
}

void ChartModel::add(IndexedBubbles bubbles) {
  std::vector<LaneIndex*> lanes;
  for (ChartRow& row : rows_) {
    const auto found = bubbles.byRank.find(row.rank);
    if (!row.isCompute || found == bubbles.byRank.end()) continue;
    row.bubbles = std::move(found->second);
    for (LaneIndex& lane : row.bubbles) lanes.push_back(&lane);
  }
  inParallel(0, lanes.size(), [&](std::size_t i) { lanes[i]->setColors(*colors_); });
  for (LegendEntry& entry : bubbles.legend) legend_.push_back(std::move(entry));
}

void ChartModel::measureJobs() {
  constexpr std::size_t kSamplesPerTrack = 1000;
  std::array<std::vector<Nanoseconds>, kJobKindCount> durations;
  for (const Track& track : timeline_->tracks) {
    const std::size_t stride = 1 + track.events.size() / kSamplesPerTrack;
    for (std::size_t i = 0; i < track.events.size(); i += stride) {
      const Event& event = track.events[i];
      durations[static_cast<std::size_t>(event.kind)].push_back(event.duration());
    }
  }
  for (std::size_t kind = 0; kind < durations.size(); ++kind) {
    if (durations[kind].empty()) continue;
    usualDurations_[kind] = quantile(durations[kind], 1, 4);
    if (!isCompute(static_cast<JobKind>(kind))) continue;
    const Nanoseconds median = quantile(durations[kind], 1, 2);
    typicalJob_ = typicalJob_ == 0 ? median : std::min(typicalJob_, median);
  }
}

void ChartModel::addRank(std::span<const Track> tracks, std::span<TrackFacts> facts) {
  const std::size_t firstRow = rows_.size();
  const int rank = tracks.front().rank;
  ++rankCount_;
  // A rank whose jobs are on lanes of other names gets a compute row for its bubbles.
  const bool computes =
      std::any_of(facts.begin(), facts.end(), [](const TrackFacts& f) { return f.computes; });
  if (tracks.front().lane == kBubbleLane || (computes && tracks.front().lane != kComputeLane)) {
    rows_.push_back({rank, std::string(kComputeLane), true, std::vector<LaneIndex>(1), {}, {}, {}});
  }
  for (std::size_t i = 0; i < tracks.size(); ++i) {
    const Track& track = tracks[i];
    if (track.lane == kBubbleLane) {
      rows_[firstRow].bubbles = std::move(facts[i].lanes);
    } else {
      rows_.push_back(
          {rank, track.lane, track.lane == kComputeLane, std::move(facts[i].lanes), {}, {}, {}});
    }
  }
  rows_[firstRow].rankLabel = "rank " + std::to_string(rank);
}

}  // namespace pipetrace
