#pragma once

#include <array>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "chart/colors/theme.h"
#include "chart/draw/legend.h"
#include "chart/lane_index.h"
#include "chart/loads/load_cache.h"
#include "chart/rows/row_tree.h"
#include "chart/steps/step_span.h"
#include "trace/timeline.h"
#include "trace/topology.h"

namespace pipetrace {

/// The contents of a chart, whatever its size on the screen: rows in the order of rank and lane,
/// each with its index, and the steps and the legend. Building it takes time proportional to the
/// number of events, on all cores; drawing from it does not. Refers to the timeline, which must be
/// sorted and outlive the model. It stays as it is, apart from its colours, and from bubbles
/// that come later (add()).
class ChartModel {
 public:
  ChartModel(const Timeline& timeline, const Topology& topology,
             const Theme& theme = themeOf(ThemeName::kPaper));
  /// The same of a timeline of which nobody knows the topology yet.
  explicit ChartModel(const Timeline& timeline, const Theme& theme = themeOf(ThemeName::kPaper));
  ChartModel(ChartModel&& other) noexcept;
  ChartModel& operator=(ChartModel&& other) noexcept;
  ~ChartModel();

  /// Bubbles that are ready to be added to a model.
  struct IndexedBubbles {
    std::map<int, std::vector<LaneIndex>> byRank;
    std::vector<LegendEntry> legend;
  };
  /// Indexes lanes of bubbles, on all cores. The result refers to the events of `bubbles`. Other
  /// threads may draw a model meanwhile.
  static IndexedBubbles indexed(const std::vector<Track>& bubbles);
  /// Adds bubbles to a model that has none. Their events have to be in the timeline. Takes time
  /// proportional to the number of ranks. Nobody may read the model meanwhile; all references to
  /// rows and events stay valid, and rows keep their places.
  void add(IndexedBubbles bubbles);

  const Timeline& timeline() const { return *timeline_; }
  const std::vector<ChartRow>& rows() const { return rows_; }
  const std::vector<StepSpan>& steps() const { return steps_; }
  const std::vector<LegendEntry>& legend() const { return legend_; }
  /// The phase that figures are about (countedPhaseOf()).
  Phase countedPhase() const { return countedPhase_; }
  /// The median duration of countedSteps(), of an even count the lower one; 0 without steps.
  Nanoseconds medianStep() const { return medianStep_; }
  /// The rows as a tree, which is made when it is first asked for. Indices of its nodes are those
  /// of rows() and counters(). Several threads may ask.
  const RowTree& rowTree(RowGrouping grouping) const;
  const std::vector<CounterIndex>& counters() const { return counters_; }
  /// The loads of folded rows.
  const LoadCache& loads() const { return loads_; }
  const JobColors& colors() const { return *colors_; }
  const Theme& theme() const { return colors_->theme(); }
  /// Gives all events the colours of another theme; everything else stays. Takes time proportional
  /// to the number of events, on all cores. Not while another thread asks lanes for their loads.
  void setTheme(const Theme& theme);
  /// From the first begin to the last end of the events.
  Timeline::Span span() const { return span_; }
  /// The number of events of the compute lanes.
  std::size_t jobCount() const { return jobCount_; }
  /// The number of messages and collectives of the other lanes.
  std::size_t transferCount() const { return transferCount_; }
  /// The number of all else on the other lanes, bubbles apart: operators, kernels, copies.
  std::size_t operatorCount() const { return operatorCount_; }
  std::size_t rankCount() const { return rankCount_; }
  /// The typical duration of the shortest kind of compute job (a median of samples); 0 if there are
  /// none. A chart is legible if such a job is wide enough.
  Nanoseconds typicalJob() const { return typicalJob_; }
  /// The duration that three of four jobs of the kind reach (of samples); 0 if there are none.
  Nanoseconds usualDuration(JobKind kind) const {
    return usualDurations_[static_cast<std::size_t>(kind)];
  }
  /// The largest micro-batch number; 0 if there is none.
  std::int32_t largestMicroBatch() const { return largestMicroBatch_; }
  /// The largest stage number; -1 if there is none.
  std::int32_t largestStage() const { return largestStage_; }

 private:
  struct TrackFacts;

  void measureJobs();
  void addRank(std::span<const Track> tracks, std::span<TrackFacts> facts);
  void addTrees(const RunShape& shape);

  const Timeline* timeline_;
  std::vector<ChartRow> rows_;
  std::vector<CounterIndex> counters_;
  LoadCache loads_;
  struct RowTrees;
  std::unique_ptr<RowTrees> trees_;
  std::vector<StepSpan> steps_;
  std::vector<LegendEntry> legend_;
  std::unique_ptr<JobColors> colors_;  // the lanes refer to it
  Timeline::Span span_;
  std::size_t jobCount_ = 0;
  std::size_t transferCount_ = 0;
  std::size_t operatorCount_ = 0;
  std::size_t rankCount_ = 0;
  Nanoseconds medianStep_ = 0;
  Phase countedPhase_ = Phase::kTraining;
  Nanoseconds typicalJob_ = 0;
  std::array<Nanoseconds, kJobKindCount> usualDurations_{};
  std::int32_t largestMicroBatch_ = 0;
  std::int32_t largestStage_ = kNotGiven;
};

}  // namespace pipetrace
