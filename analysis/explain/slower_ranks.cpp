#include "analysis/explain/slower_ranks.h"

#include <algorithm>
#include <utility>

#include "analysis/explain/change_point.h"
#include "analysis/median.h"
#include "trace/threads/in_parallel.h"

namespace pipetrace {
namespace {

using Id = JobGraph::Id;

/// The jobs of a stage on one rank in one step.
struct Cell {
  double sum = 0;
  double count = 0;
  double mean() const { return count > 0 ? sum / count : 0; }
};
/// By stage, then by the index of the step.
using Cells = std::map<std::int32_t, std::vector<Cell>>;

std::vector<std::int32_t> stepsOf(const JobGraph& graph, const CountedSteps& counted) {
  std::vector<std::int32_t> steps;
  for (Id id = 0; id < graph.jobCount(); ++id) {
    const JobGraph::Node& job = graph.node(id);
    if (!isCompute(job.kind) || job.step < 0 || !counted.contains(job.step)) continue;
    if (steps.empty() || steps.back() != job.step) steps.push_back(job.step);
  }
  std::sort(steps.begin(), steps.end());
  steps.erase(std::unique(steps.begin(), steps.end()), steps.end());
  return steps;
}

Cells cellsOf(const JobGraph& graph, const JobGraph::Rank& rank,
              const std::vector<std::int32_t>& steps) {
  Cells cells;
  std::size_t at = 0;
  for (Id id = rank.first; id < rank.end; ++id) {
    const JobGraph::Node& job = graph.node(id);
    if (!isCompute(job.kind)) continue;
    if (at == steps.size() || steps[at] != job.step) {
      at = static_cast<std::size_t>(std::lower_bound(steps.begin(), steps.end(), job.step) -
                                    steps.begin());
      if (at == steps.size() || steps[at] != job.step) continue;
    }
    std::vector<Cell>& ofStage = cells[job.stage];
    ofStage.resize(steps.size());
    ofStage[at].sum += static_cast<double>(job.end - job.begin);
    ++ofStage[at].count;
  }
  return cells;
}

/// A figure of a rank, where it is known, with the indices of its steps.
struct Series {
  std::vector<double> values;
  std::vector<std::size_t> steps;
};

class RankSeries {
 public:
  RankSeries(const std::vector<std::int32_t>& steps, const std::vector<Cells>& ranks)
      : steps_(steps), ranks_(ranks) {
    for (std::size_t r = 0; r < ranks.size(); ++r) {
      for (const auto& [stage, cells] : ranks[r]) {
        if (stage >= 0) ranksOfStage_[stage].push_back(r);
      }
    }
  }

  SlowerRanks::Rank of(std::size_t r) const {
    SlowerRanks::Rank rank;
    for (const auto& [stage, cells] : ranks_[r]) {
      const auto all = ranksOfStage_.find(stage);
      if (all != ranksOfStage_.end() && all->second.size() > 1) rank.stages.push_back(stage);
    }
    if (!rank.stages.empty()) {
      const Series beside = besidePeers(r, rank.stages);
      if (!beside.values.empty()) {
        std::vector<double> values = beside.values;
        rank.factor = lowerMedianOf(values);
      }
      rank.change = changeIn(beside, true);
      if (rank.change || rank.factor >= SlowerRanks::kSlow) return rank;
    }
    rank.change = changeIn(own(r), false);
    return rank;
  }

 private:
  /// Its jobs beside those of the other ranks of these stages, in each step.
  Series besidePeers(std::size_t r, const std::vector<std::int32_t>& stages) const {
    Series series;
    std::vector<double> peers;
    for (std::size_t step = 0; step < steps_.size(); ++step) {
      double own = 0;
      double others = 0;
      for (const std::int32_t stage : stages) {
        peers.clear();
        for (const std::size_t peer : ranksOfStage_.at(stage)) {
          const Cell& cell = ranks_[peer].at(stage)[step];
          if (peer != r && cell.count > 0) peers.push_back(cell.mean());
        }
        const Cell& cell = ranks_[r].at(stage)[step];
        if (peers.empty() || cell.count == 0) continue;
        own += cell.mean();
        others += lowerMedianOf(peers);
      }
      if (own <= 0 || others <= 0) continue;
      series.values.push_back(own / others);
      series.steps.push_back(step);
    }
    return series;
  }

  /// The mean length of its jobs in each step.
  Series own(std::size_t r) const {
    Series series;
    for (std::size_t step = 0; step < steps_.size(); ++step) {
      Cell all;
      for (const auto& [stage, cells] : ranks_[r]) {
        all.sum += cells[step].sum;
        all.count += cells[step].count;
      }
      if (all.sum <= 0) continue;
      series.values.push_back(all.mean());
      series.steps.push_back(step);
    }
    return series;
  }

  std::optional<SlowerRanks::Change> changeIn(const Series& series, bool isBesidePeers) const {
    const std::optional<HighStretch> stretch = highStretchOf(series.values);
    if (!stretch) return std::nullopt;
    return SlowerRanks::Change{
        .first = steps_[series.steps[stretch->begin]],
        .last = steps_[series.steps[stretch->end - 1]],
        .isFirstOfRun = stretch->begin == 0,
        .isLastOfRun = stretch->end == series.values.size(),
        .factor = isBesidePeers ? stretch->inside : stretch->inside / stretch->outside,
        .isBesidePeers = isBesidePeers};
  }

  const std::vector<std::int32_t>& steps_;
  const std::vector<Cells>& ranks_;
  std::map<std::int32_t, std::vector<std::size_t>> ranksOfStage_;
};

}  // namespace

SlowerRanks::SlowerRanks(const JobGraph& graph, const CountedSteps& counted, int threads) {
  const std::vector<std::int32_t> steps = stepsOf(graph, counted);
  std::vector<Cells> cells(graph.ranks().size());
  inParallel(threads, cells.size(),
             [&](std::size_t r) { cells[r] = cellsOf(graph, graph.ranks()[r], steps); });
  const RankSeries series(steps, cells);
  std::vector<Rank> ranks(cells.size());
  inParallel(threads, ranks.size(), [&](std::size_t r) { ranks[r] = series.of(r); });
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    ranks_[graph.ranks()[r].number] = std::move(ranks[r]);
  }
}

}  // namespace pipetrace
