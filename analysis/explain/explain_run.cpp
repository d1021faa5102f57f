#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "analysis/explain/explanation.h"
#include "trace/threads/in_parallel.h"
#include "trace/threads/turns.h"

namespace pipetrace {
namespace {

/// The steps that count: those asked for, else all but the lowest.
bool counts(const ExplainOptions& options, std::int32_t step, std::int32_t lowest,
            std::int32_t highest) {
  if (!options.steps.empty()) return isIn(options.steps, step);
  return step > lowest || lowest == highest;
}

void explainRanks(Explanation& result) {
  std::map<int, Nanoseconds> launchBound;
  for (const StageDeviceWork& work : result.summary.deviceWork) {
    launchBound[work.rank] += work.launchBound();
  }
  std::map<int, const RankSummary*> summaries;
  for (const RankSummary& rank : result.summary.ranks) summaries[rank.rank] = &rank;
  for (std::uint32_t r = 0; r < result.graph->ranks().size(); ++r) {
    const JobGraph::Rank& rank = result.graph->ranks()[r];
    const RankSummary& summary = *summaries.at(rank.number);
    const int place = result.topology.places.at(rank.number).position;
    result.ranks.push_back({.rank = rank.number,
                            .position = place < 0 ? rank.position : place,
                            .replica = rank.replica,
                            .busy = summary.busy,
                            .idle = summary.idle,
                            .launchBound = launchBound[rank.number],
                            .bubbles = result.bubbles.times[r]});
  }
}

/// The steps of one pipeline.
struct PipelineSteps {
  std::vector<ExplainedStep> steps;  // by window
  PathShares shares;
  StepPath longest;
  Nanoseconds length = -1;                 // of that step
  std::vector<const BubbleWindow*> sound;  // those that count, with all jobs and ranks
};

/// Which steps the pipelines have, and which of them count.
std::vector<PipelineSteps> listSteps(const Explanation& result, const ExplainOptions& options) {
  std::vector<PipelineSteps> listed;
  for (const PipelineBasis& pipeline : result.basis->pipelines()) {
    std::map<std::int32_t, const StepSummary*> summaries;
    for (const StepSummary& step : result.summary.steps) {
      if (step.replica == pipeline.replica) summaries[step.step] = &step;
    }
    PipelineSteps& steps = listed.emplace_back();
    for (const BubbleWindow& window : pipeline.windows) {
      ExplainedStep& step = steps.steps.emplace_back();
      step.summary = *summaries.at(window.step);
      step.isWhole = window.isWhole;
      step.isCounted =
          counts(options, window.step, summaries.begin()->first, summaries.rbegin()->first);
    }
  }
  return listed;
}

void explainSteps(const Explanation& result, const PipelineBasis& pipeline,
                  PipelineSteps& explained) {
  std::vector<const StepSummary*> summaries;
  for (const ExplainedStep& step : explained.steps) summaries.push_back(&step.summary);
  const auto efficiency = efficiencyOf(*result.basis, pipeline, summaries);
  for (std::size_t i = 0; i < explained.steps.size(); ++i) {
    const BubbleWindow& window = pipeline.windows[i];
    ExplainedStep& step = explained.steps[i];
    step.efficiency = efficiency[i];
    if (!step.isCounted) continue;
    StepPath path = criticalPathOf(*result.basis, pipeline, window);
    explained.shares.add(*result.graph, path);
    if (window.isWhole && !window.lacksRanks) explained.sound.push_back(&window);
    if (window.span.length() <= explained.length) continue;
    explained.length = window.span.length();
    explained.longest = std::move(path);
  }
}

void findSlack(Explanation& result, const std::vector<PipelineSteps>& explained, int threads) {
  const JobGraph& graph = *result.graph;
  result.slack.assign(graph.jobCount(), -1);
  // Several tasks for each pipeline, as many runs have only one.
  constexpr std::size_t kTasks = 4;
  inParallel(threads, explained.size() * kTasks, [&](std::size_t i) {
    const std::size_t p = i / kTasks;
    const std::vector<const BubbleWindow*>& windows = explained[p].sound;
    if (i % kTasks >= windows.size()) return;
    StepSlack slack(graph, result.basis->pipelines()[p].jobs, p);
    for (std::size_t w = i % kTasks; w < windows.size(); w += kTasks) {
      slack.find(*windows[w], result.slack);
    }
  });
  result.slackByStage = slackByStage(graph, result.slack);
}

/// Fills in what `explained` lacks, and the numbers of jobs.
void explainSteps(Explanation& result, std::vector<PipelineSteps>& explained, int threads) {
  inParallel(threads, explained.size(), [&](std::size_t p) {
    explainSteps(result, result.basis->pipelines()[p], explained[p]);
  });
  findSlack(result, explained, threads);
}

void takeSteps(Explanation& result, std::vector<PipelineSteps>& explained) {
  Nanoseconds longest = -1;
  for (PipelineSteps& each : explained) {
    std::sort(each.steps.begin(), each.steps.end(),
              [](const auto& a, const auto& b) { return a.summary.step < b.summary.step; });
    for (ExplainedStep& step : each.steps) result.steps.push_back(std::move(step));
    for (const auto& [kind, time] : each.shares.byKind) result.pathShares.byKind[kind] += time;
    for (const auto& [stage, time] : each.shares.byStage) result.pathShares.byStage[stage] += time;
    if (each.length <= longest) continue;
    longest = each.length;
    result.longestStep = std::move(each.longest);
  }
}

/// The windows of the steps that count, by replica.
std::map<int, std::vector<Interval>> countedWindows(const std::vector<PipelineSteps>& listed) {
  std::map<int, std::vector<Interval>> windows;
  for (const PipelineSteps& pipeline : listed) {
    for (const ExplainedStep& step : pipeline.steps) {
      if (!step.isCounted) continue;
      windows[step.summary.replica].push_back({step.summary.begin, step.summary.windowEnd});
    }
  }
  return windows;
}

/// The steps that the user asked for; empty: none in particular.
std::vector<std::int32_t> chosenSteps(const std::vector<PipelineSteps>& listed,
                                      const ExplainOptions& options) {
  std::set<std::int32_t> steps;
  for (const PipelineSteps& pipeline : listed) {
    for (const ExplainedStep& step : pipeline.steps) {
      if (!options.steps.empty() && step.isCounted) steps.insert(step.summary.step);
    }
  }
  return {steps.begin(), steps.end()};
}

/// Tokens a second and the use of the devices' peak, over the steps that count and the pauses
/// between them.
void addThroughput(const Timeline& timeline, const ExplainOptions& options, Explanation& result) {
  double tokens = options.tokensPerStep.value_or(0);
  double flops = options.flopsPerStep.value_or(0);
  for (const auto& [rank, info] : timeline.ranks) {
    if (!options.tokensPerStep) tokens = std::max(tokens, info.tokensPerStep.value_or(0));
    if (!options.flopsPerStep) flops = std::max(flops, info.flopsPerStep.value_or(0));
  }
  double seconds = 0;
  double steps = 0;
  for (const ExplainedStep& step : result.steps) {
    if (!step.isCounted || !step.isWhole) continue;
    seconds += static_cast<double>(step.summary.window() + step.summary.betweenSteps) / 1e9;
    ++steps;
  }
  if (seconds <= 0) return;
  // All pipelines take part in a step.
  const double perSecond = steps / seconds;
  if (tokens > 0) result.tokensPerSecond = tokens * perSecond;
  if (flops > 0 && options.peakFlops) {
    const auto devices = static_cast<double>(result.graph->ranks().size());
    result.modelFlopsUtilization = flops * perSecond / (devices * *options.peakFlops);
  }
}

}  // namespace

Explanation classifiedRun(const Timeline& timeline, int threads) {
  Explanation result;
  result.summary = summarize(timeline, threads);
  result.topology = topologyOf(timeline, threads);
  result.graph = std::make_unique<JobGraph>(timeline, result.topology, threads);
  result.basis = std::make_unique<RunBasis>(*result.graph, result.summary, threads);
  result.basis->planMissingRanks(timeline, result.topology, threads);
  result.bubbles = classifyBubbles(*result.basis, threads);
  return result;
}

void explain(const Timeline& timeline, const ExplainOptions& options, Explanation& result) {
  const SlowerStages stages(timeline, *result.basis);
  std::vector<PipelineSteps> steps = listSteps(result, options);
  const auto windows = countedWindows(steps);
  const auto chosen = chosenSteps(steps, options);
  // Parts that need nothing of each other, the longest first. Two run at once.
  const int threads = (threadCount(options.threads) + 1) / 2;
  const std::function<void()> parts[] = {
      [&] { explainSteps(result, steps, threads); },
      [&] {
        result.slowdown = slowdownOf(timeline, *result.graph, result.topology, chosen, threads);
      },
      [&] {
        explainRanks(result);
        result.culprits = culpritsOf(*result.graph, result.bubbles, stages, threads);
        result.findings = findingsOf(timeline, *result.basis, stages, result.bubbles,
                                     result.culprits, result.summary);
      },
      [&] { result.communication = communicationOf(timeline, *result.graph, windows, threads); },
      [&] { result.schedule = followedSchedule(timeline, result.topology, *result.basis); },
  };
  inParallel(std::min(2, threadCount(options.threads)), std::size(parts),
             [&](std::size_t part) { parts[part](); });
  takeSteps(result, steps);
  addThroughput(timeline, options, result);
}

Explanation explainRun(const Timeline& timeline, const ExplainOptions& options) {
  Explanation result = classifiedRun(timeline, options.threads);
  explain(timeline, options, result);
  return result;
}

}  // namespace pipetrace
