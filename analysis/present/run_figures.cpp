#include "analysis/present/run_figures.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "analysis/median.h"
#include "analysis/run/steps/median_step.h"

namespace pipetrace {

Distribution distributionOf(std::vector<double> values) {
  if (values.empty()) return {};
  const std::size_t count = values.size();
  const auto rank = static_cast<std::size_t>(std::ceil(0.99 * static_cast<double>(count)));
  Distribution result;
  result.mean = std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(count);
  result.median = medianOf(values);
  std::sort(values.begin(), values.end());
  result.p99 = values[std::clamp<std::size_t>(rank, 1, count) - 1];
  return result;
}

const std::vector<StepFigure>& stepFigures() {
  static const std::vector<StepFigure> figures = {
      {"step_wall_ns", "wall time",
       [](const ExplainedStep& s) { return static_cast<double>(s.summary.wall()); }, false, true,
       true},
      {"window_ns", "length",
       [](const ExplainedStep& s) { return static_cast<double>(s.summary.window()); }, false, true},
      {"duration_ns", "",
       [](const ExplainedStep& s) { return static_cast<double>(s.summary.duration()); }},
      {"bubble_ratio", "bubble ratio",
       [](const ExplainedStep& s) { return s.summary.bubbleRatio; }},
      {"span_bubble", "span bubble", [](const ExplainedStep& s) { return s.summary.spanBubble; }},
      {"parallel_efficiency", "parallel efficiency",
       [](const ExplainedStep& s) { return s.efficiency.parallel; }},
      {"load_balance", "load balance",
       [](const ExplainedStep& s) { return s.efficiency.loadBalance; }},
      {"communication_efficiency", "communication efficiency",
       [](const ExplainedStep& s) { return s.efficiency.communication; }},
      {"schedule_efficiency", "schedule efficiency",
       [](const ExplainedStep& s) { return s.efficiency.schedule; }, true},
  };
  return figures;
}

std::optional<Distribution> overSteps(const Explanation& explanation, const StepFigure& figure) {
  std::vector<double> values;
  const MedianStep median = medianStepOf(explanation.summary, explanation.counted);
  const CountedSteps whole = explanation.counted.wholeOnes();
  for (const ExplainedStep& step : explanation.steps) {
    const bool isOut = figure.isLength && !whole.contains(step.summary.step);
    if (!step.isCounted || isOut) continue;
    if (figure.isKnown(step)) {
      values.push_back(figure.of(step));
    } else if (figure.needsNext && median.between && !step.summary.isWholeRun) {
      values.push_back(figure.of(step) + static_cast<double>(*median.between));
    }
  }
  if (values.empty()) return std::nullopt;
  Distribution result = distributionOf(std::move(values));
  if (figure.isLength) {
    result.median = static_cast<double>(figure.needsNext ? median.wall.value_or(0) : median.window);
  }
  return result;
}

std::size_t countedSteps(const Explanation& explanation) {
  std::set<std::int32_t> steps;
  for (const ExplainedStep& step : explanation.steps) {
    if (step.isCounted) steps.insert(step.summary.step);
  }
  return steps.size();
}

Arrangement arrangementOf(const Explanation& explanation) {
  Arrangement result;
  result.ranks = explanation.ranks.size();
  result.pipelines = static_cast<int>(explanation.basis->pipelines().size());
  std::set<int> replicas;
  for (const PipelineBasis& pipeline : explanation.basis->pipelines()) {
    replicas.insert(explanation.topology.dataParallelIndex(pipeline.replica));
  }
  result.replicas = static_cast<int>(replicas.size());
  result.tensorRanks = explanation.topology.tensorRanks;
  for (const auto& pipeline : explanation.graph->pipelines()) {
    result.pipelineRanks = std::max(result.pipelineRanks, static_cast<int>(pipeline.size()));
  }
  for (const auto& [rank, place] : explanation.topology.places) {
    result.chunks = std::max(result.chunks, place.chunks);
  }
  for (const PipelineBasis& pipeline : explanation.basis->pipelines()) {
    const std::vector<std::int32_t>& steps = pipeline.jobs.steps();
    result.steps.insert(steps.begin(), steps.end());
    for (std::size_t step = 0; step < steps.size(); ++step) {
      result.jobs += pipeline.jobs.jobs(step).size();
    }
  }
  return result;
}

std::vector<std::uint32_t> ascending(const Explanation& explanation,
                                     std::vector<std::uint32_t> ranks) {
  std::sort(ranks.begin(), ranks.end(), [&](std::uint32_t a, std::uint32_t b) {
    return explanation.ranks[a].rank < explanation.ranks[b].rank;
  });
  return ranks;
}

std::vector<std::uint32_t> mostExpensive(const Explanation& explanation,
                                         const std::map<std::uint32_t, Nanoseconds>& times,
                                         std::size_t most) {
  std::vector<std::pair<Nanoseconds, std::uint32_t>> byTime;
  for (const auto& [rank, time] : times) byTime.emplace_back(-time, rank);
  std::sort(byTime.begin(), byTime.end());
  byTime.resize(std::min(byTime.size(), most));
  std::vector<std::uint32_t> ranks;
  for (const auto& [time, rank] : byTime) ranks.push_back(rank);
  return ascending(explanation, std::move(ranks));
}

}  // namespace pipetrace
