#include "analysis/causes/explanation.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "analysis/causes/culprits.h"
#include "analysis/causes/slower_than_others.h"
#include "analysis/run/steps/median_step.h"
#include "trace/threads/in_parallel.h"

namespace pipetrace {
namespace {

void explainRanks(Explanation& result) {
  std::map<int, ExplainedRank> byNumber;
  for (const StageDeviceWork& work : result.summary.deviceWork) {
    const bool counts =
        work.step == kNotGiven ? result.counted.areAll() : result.counted.contains(work.step);
    if (counts) byNumber[work.rank].launchBound += work.launchBound();
  }
  for (const StepSummary& step : result.summary.steps) {
    if (!result.counted.contains(step.step)) continue;
    for (const RankStep& rank : step.ranks) {
      byNumber[rank.rank].busy += rank.busy;
      byNumber[rank.rank].idle += rank.idle;
    }
  }
  for (std::uint32_t r = 0; r < result.graph->ranks().size(); ++r) {
    const JobGraph::Rank& rank = result.graph->ranks()[r];
    const int place = result.topology.places.at(rank.number).position;
    ExplainedRank& explained = result.ranks.emplace_back(byNumber[rank.number]);
    explained.rank = rank.number;
    explained.position = place < 0 ? rank.position : place;
    explained.replica = rank.replica;
    explained.bubbles = result.counted.areAll() ? result.bubbles.times[r] : ClassTimes{};
    if (result.counted.areAll()) continue;
    for (const Bubble& bubble : result.bubbles.byRank[r]) {
      if (!result.counted.contains(bubble.step)) continue;
      explained.bubbles[static_cast<std::size_t>(bubble.bubbleClass)] += bubble.end - bubble.begin;
    }
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
std::vector<PipelineSteps> listSteps(const Explanation& result) {
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
      step.isCounted = result.counted.contains(window.step);
    }
  }
  return listed;
}

/// Some steps of a pipeline that follow each other, and what they add to it.
struct StepBlock {
  std::size_t pipeline = 0;
  std::size_t first = 0;
  std::size_t end = 0;
  PathShares shares;
  StepPath longest;
  Nanoseconds length = -1;  // of that step
};

/// Cuts the steps of all pipelines into blocks that several threads explain: one pipeline alone has
/// one for each thread.
std::vector<StepBlock> blocksOf(const std::vector<PipelineSteps>& pipelines, int threads) {
  const std::size_t tasks =
      pipelines.size() >= static_cast<std::size_t>(threads) ? 1 : static_cast<std::size_t>(threads);
  std::vector<StepBlock> blocks;
  for (std::size_t p = 0; p < pipelines.size(); ++p) {
    const std::size_t count = pipelines[p].steps.size();
    for (std::size_t task = 0; task < tasks; ++task) {
      const StepBlock block{
          .pipeline = p, .first = count * task / tasks, .end = count * (task + 1) / tasks};
      if (block.first < block.end) blocks.push_back(block);
    }
  }
  return blocks;
}

void explainBlock(const Explanation& result, PipelineSteps& explained, StepBlock& block) {
  const PipelineBasis& pipeline = result.basis->pipelines()[block.pipeline];
  std::vector<const StepSummary*> summaries;
  for (std::size_t i = block.first; i < block.end; ++i) {
    summaries.push_back(&explained.steps[i].summary);
  }
  const auto efficiency = efficiencyOf(pipeline, summaries, block.first);
  for (std::size_t i = block.first; i < block.end; ++i) {
    const BubbleWindow& window = pipeline.windows[i];
    ExplainedStep& step = explained.steps[i];
    step.efficiency = efficiency[i - block.first];
    if (!step.isCounted) continue;
    StepPath path = criticalPathOf(*result.basis, pipeline, window);
    block.shares.add(*result.graph, path);
    if (window.span.length() <= block.length) continue;
    block.length = window.span.length();
    block.longest = std::move(path);
  }
}

/// Adds a block to its pipeline. Blocks come in their order: of steps that are as long the first
/// counts.
void join(StepBlock& block, PipelineSteps& into) {
  for (const auto& [kind, time] : block.shares.byKind) into.shares.byKind[kind] += time;
  for (const auto& [stage, time] : block.shares.byStage) into.shares.byStage[stage] += time;
  if (block.length <= into.length) return;
  into.length = block.length;
  into.longest = std::move(block.longest);
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
  std::vector<StepBlock> blocks = blocksOf(explained, threads);
  inParallel(threads, blocks.size(), [&](std::size_t i) {
    explainBlock(result, explained[blocks[i].pipeline], blocks[i]);
  });
  for (StepBlock& block : blocks) join(block, explained[block.pipeline]);
  for (std::size_t p = 0; p < explained.size(); ++p) {
    const std::vector<BubbleWindow>& windows = result.basis->pipelines()[p].windows;
    for (std::size_t i = 0; i < windows.size(); ++i) {
      const bool isSound = windows[i].isWhole && !windows[i].lacksRanks;
      if (isSound && explained[p].steps[i].isCounted) explained[p].sound.push_back(&windows[i]);
    }
  }
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

/// The steps that the slowdown is of; empty: all.
std::vector<std::int32_t> stepsOfSlowdown(const std::vector<PipelineSteps>& listed,
                                          const CountedSteps& counted) {
  std::set<std::int32_t> steps;
  for (const PipelineSteps& pipeline : listed) {
    for (const ExplainedStep& step : pipeline.steps) {
      // Steps that were chosen count even if they lack jobs.
      const bool isUsed = step.isCounted && (step.isWhole || !counted.leftOut());
      if (isUsed && !counted.areAll()) steps.insert(step.summary.step);
    }
  }
  return {steps.begin(), steps.end()};
}

/// Sets ExplainedRank::work.
void compareWork(const SlowerStages& stages, const SlowerRanks& ranks, Explanation& result) {
  std::map<int, std::vector<std::int32_t>> stagesOf;
  std::set<std::int32_t> all;
  for (const JobGraph::Rank& rank : result.graph->ranks()) {
    std::vector<std::int32_t>& own = stagesOf[rank.number];
    for (JobGraph::Id id = rank.first; id < rank.end; ++id) {
      const JobGraph::Node& job = result.graph->node(id);
      if (!isCompute(job.kind)) continue;
      if (std::find(own.begin(), own.end(), job.stage) == own.end()) own.push_back(job.stage);
    }
    all.insert(own.begin(), own.end());
  }
  for (ExplainedRank& rank : result.ranks) {
    const std::vector<std::int32_t>& own = stagesOf[rank.rank];
    rank.work = ranks.of(rank.rank).factor;
    if (own.empty() || own.size() == all.size()) continue;  // there are no other stages
    const SlowerStages::Factor factor = stages.besideOthers(own);
    if (factor.isKnown) rank.work *= factor.times;
  }
}

void findCauses(const std::string& logs, int threads, Explanation& result) {
  const JobGraph& graph = *result.graph;
  std::optional<MedianDurations> own;
  if (!result.counted.areAll()) own.emplace(graph, threads, result.counted);
  const MedianDurations& times = own ? *own : result.basis->times();
  const SlowerStages stages(result.of.timeline(), graph, times, result.counted, threads);
  const LinkTimes links(graph, result.counted);
  const SlowerRanks ranks(graph, result.counted, threads);
  compareWork(stages, ranks, result);
  const UnevenMicroBatches lengths(graph, result.counted, threads);
  const ScatteredPauses scattered(graph, times, result.counted, lengths, threads);
  result.inside = insideTimesOf(graph, result.counted);
  const Peers peers(graph, result.counted, threads);
  const Outliers outliers(graph, times, links, scattered,
                          medianStepOf(result.summary, result.counted).window);
  result.culprits = culpritsOf(graph, result.bubbles, stages, outliers, result.counted, threads);
  result.findings = findingsOf({.of = result.of,
                                .logs = logs,
                                .times = times,
                                .stages = stages,
                                .ranks = ranks,
                                .links = links,
                                .lengths = lengths,
                                .scattered = scattered,
                                .peers = peers,
                                .counted = result.counted,
                                .culprits = result.culprits});
}

}  // namespace

double stepsIn(const JobGraph& graph, const StepSummary& window) {
  if (!window.isWholeRun) return 1;
  std::set<std::int32_t> steps;
  double forwards = 0;
  double inside = 0;
  for (const std::vector<std::uint32_t>& pipeline : graph.pipelines()) {
    const JobGraph::Rank& first = graph.ranks()[pipeline.front()];
    if (first.replica != window.replica) continue;
    for (JobGraph::Id id = first.first; id < first.end; ++id) {
      const JobGraph::Node& job = graph.node(id);
      const bool isForward = job.kind == JobKind::kForward || job.kind == JobKind::kForwardBackward;
      if (!isForward || job.step < window.step || job.step > window.last()) continue;
      steps.insert(job.step);
      ++forwards;
      if (window.begin <= job.begin && job.begin < window.end) ++inside;
    }
  }
  return forwards > 0 ? inside * static_cast<double>(steps.size()) / forwards : 1;
}

namespace {

/// Tokens a second and the use of the devices' peak, over the steps that count and the pauses
/// between them.
void addThroughput(const ExplainOptions& options, Explanation& result) {
  double tokens = options.tokensPerStep.value_or(0);
  double flops = options.flopsPerStep.value_or(0);
  for (const auto& [rank, info] : result.of.timeline().ranks) {
    if (!options.tokensPerStep) tokens = std::max(tokens, info.tokensPerStep.value_or(0));
    if (!options.flopsPerStep) flops = std::max(flops, info.flopsPerStep.value_or(0));
  }
  // The last step says nothing of what passes before the next one.
  const auto counts = [](const ExplainedStep& step) { return step.isCounted && step.isWhole; };
  const bool isFollowed =
      std::any_of(result.steps.begin(), result.steps.end(), [&](const ExplainedStep& step) {
        return counts(step) && step.summary.isFollowed && !step.summary.isWholeRun;
      });
  double seconds = 0;
  double steps = 0;
  for (const ExplainedStep& step : result.steps) {
    if (!counts(step) || (isFollowed && !step.summary.isFollowed)) continue;
    seconds += static_cast<double>(step.summary.wall()) / 1e9;
    steps += stepsIn(*result.graph, step.summary);
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

Explanation::Explanation(const Run& run, const ExplainOptions& options)
    : of(run),
      summary(run.summary()),
      topology(run.topology()),
      graph(&run.graph()),
      basis(&run.basis()),
      bubbles(run.bubbles()),
      counted(run.countedSteps(options.steps)) {
  const Timeline& timeline = run.timeline();
  std::vector<PipelineSteps> listed = listSteps(*this);
  const auto windows = countedWindows(listed);
  const auto slowdownSteps = stepsOfSlowdown(listed, counted);
  // Parts that need nothing of each other, the longest first. Two run at once. The what-ifs of many
  // stages take longer than all others, and steps may be the last, so both have all threads.
  const int allThreads = run.threads();
  const int threads = (allThreads + 1) / 2;
  const std::function<void()> parts[] = {
      [&] {
        explainRanks(*this);
        findCauses(options.logs, threads, *this);
      },
      [&] {
        if (graph->inside().empty()) {
          slowdown = slowdownOf(timeline, *graph, topology, slowdownSteps, allThreads);
        } else {
          slowdown.reason = "ranks meet inside jobs; pipe-trace what-if knows of their waits";
        }
      },
      [&] { explainSteps(*this, listed, allThreads); },
      [&] { communication = communicationOf(timeline, *graph, windows, threads); },
      [&] { schedule = run.schedule(); },
  };
  inParallel(std::min(2, allThreads), std::size(parts), [&](std::size_t part) {
    run.requireWanted();
    parts[part]();
  });
  takeSteps(*this, listed);
  addThroughput(options, *this);
}

}  // namespace pipetrace
