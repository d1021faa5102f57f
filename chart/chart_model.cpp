#include "chart/chart_model.h"

#include <algorithm>
#include <array>
#include <map>
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

ChartModel::ChartModel(const Timeline& timeline, const Theme& theme)
    : timeline_(&timeline),
      legend_(legendOf(timeline)),
      colors_(std::make_unique<JobColors>(theme, chunksOf(legend_))),
      span_{kNsMax, kNsMin} {
  const std::vector<StepWindow> windows = stepWindows(timeline);
  steps_ = stepSpans(windows);
  const std::vector<Track>& tracks = timeline.tracks;
  for (const Track& track : tracks) {
    if (track.lane != kBubbleLane) {
      (track.lane == kComputeLane ? jobCount_ : transferCount_) += track.events.size();
    }
    for (const Event& event : track.events) {
      span_.begin = std::min(span_.begin, event.begin);
      span_.end = std::max(span_.end, event.end);
      largestMicroBatch_ = std::max(largestMicroBatch_, event.microBatch);
      largestStage_ = std::max(largestStage_, event.stage);
    }
  }
  if (span_.begin > span_.end) span_ = {0, kNsPerMs};  // an empty chart still has an axis

  medianStep_ = medianDuration(steps_);
  measureJobs();
  for (std::size_t first = 0; first < tracks.size();) {
    std::size_t last = first + 1;
    while (last < tracks.size() && tracks[last].rank == tracks[first].rank) ++last;
    addRank(first, last);
    first = last;
  }
  addTrees(runShapeOf(timeline, windows));
}

void ChartModel::addTrees(const RunShape& shape) {
  for (const CounterSeries& series : timeline_->counters) counters_.emplace_back(series);
  std::map<int, std::string> details;
  for (const RankShape& rank : shape.ranks) details[rank.rank] = stagesText(rank.stages);
  for (ChartRow& row : rows_) {
    if (!row.rankLabel.empty()) row.rankDetail = rankDetail(row, details[row.rank]);
  }
  byRank_ = RowTree(rows_, counters_, shape, RowGrouping::kByRank);
  byStage_ = RowTree(rows_, counters_, shape, RowGrouping::kByStage);
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

void ChartModel::addRank(std::size_t firstTrack, std::size_t lastTrack) {
  const std::size_t firstRow = rows_.size();
  const auto tracks = std::span(timeline_->tracks).subspan(firstTrack, lastTrack - firstTrack);
  const int rank = tracks.front().rank;
  ++rankCount_;
  for (const Track& track : tracks) {
    if (track.lane == kBubbleLane) {
      // Sorted after "compute": a rank that has bubbles and no jobs still gets its compute row.
      if (rows_.size() == firstRow) {
        rows_.push_back(
            {rank, std::string(kComputeLane), true, std::vector<LaneIndex>(1), {}, {}, {}});
      }
      rows_[firstRow].bubbles = indexOf(track.events, *colors_);
    } else {
      rows_.push_back({rank,
                       track.lane,
                       track.lane == kComputeLane,
                       indexOf(track.events, *colors_),
                       {},
                       {},
                       {}});
    }
  }
  rows_[firstRow].rankLabel = "rank " + std::to_string(rank);
}

}  // namespace pipetrace
