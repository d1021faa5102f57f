#include "analysis/what_if/what_if.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "analysis/causes/explanation.h"
#include "analysis/causes/steps_that_lack_jobs.h"
#include "analysis/ratio.h"
#include "analysis/run/steps/median_step.h"
#include "trace/error.h"
#include "trace/text/decimal_time.h"

namespace pipetrace {
namespace {

/// The stages of each position, by the compute jobs there.
std::map<int, std::set<std::int32_t>> stagesByPosition(const JobGraph& graph) {
  std::map<int, std::set<std::int32_t>> stages;
  for (const JobGraph::Rank& rank : graph.ranks()) {
    std::set<std::int32_t>& ofRank = stages[rank.position];
    for (JobGraph::Id id = rank.first; id < rank.end; ++id) {
      const JobGraph::Node& job = graph.node(id);
      if (isCompute(job.kind) && job.stage >= 0) ofRank.insert(job.stage);
    }
  }
  return stages;
}

std::optional<double> tokensOf(const Timeline& timeline, const WhatIfQuestion& question) {
  if (question.tokensPerStep) return question.tokensPerStep;
  double tokens = 0;
  for (const auto& [rank, info] : timeline.ranks) {
    tokens = std::max(tokens, info.tokensPerStep.value_or(0));
  }
  return tokens > 0 ? std::optional(tokens) : std::nullopt;
}

/// Says what an answer about the run itself takes for granted.
void addGrounds(const Run& run, const CountedSteps& counted, const WhatIfQuestion& question,
                WhatIfAnswer& answer) {
  const JobGraph& graph = run.graph();
  const bool hasSeveral = graph.ranks().size() > graph.pipelines().size();
  if (hasSeveral && graph.messageEnd() == graph.jobCount()) {
    answer.assumptions.push_back(
        "the logs have no messages: the time between a job and the one on another rank that waited "
        "for it stays as it was");
  }
  const StepsThatLackJobs lacking = stepsThatLackJobs(run.basis(), counted);
  if (!lacking.steps.empty()) {
    const std::string advice = lacking.leaveOutText();
    answer.assumptions.push_back(lacking.text() + ": what others waited for stays as it was" +
                                 (advice.empty() ? "" : "; " + advice));
  }
  const auto lacksRank = [&](const JobGraph::Node& node) {
    return node.lacksInput && counted.contains(node.step) &&
           !std::binary_search(lacking.steps.begin(), lacking.steps.end(), node.step);
  };
  if (std::any_of(graph.nodes().begin(), graph.nodes().end(), lacksRank)) {
    answer.assumptions.push_back(
        "ranks are missing: what their jobs and messages made others wait for stays as it was");
  }
  if (question.run.leavesOutLaunches) {
    answer.assumptions.push_back("pauses between steps stay as they were");
  }
}

void addGroundsOfPlan(const RunModel& model, const PlanChanges& plan, WhatIfAnswer& answer) {
  answer.assumptions.insert(answer.assumptions.end(), model.assumptions().begin(),
                            model.assumptions().end());
  if (!plan.changesJobs()) return;
  answer.assumptions.push_back(
      "what follows the last compute job of a step (collectives, optimizers) takes as long as it "
      "did");
  if (plan.keepsBatch && plan.microBatches > 0) {
    answer.assumptions.push_back(
        model.messagesScale()
            ? "jobs, activations and messages are taken to scale with the size of a micro-batch, "
              "launches to stay as they were"
            : "jobs and activations are taken to scale with the size of a micro-batch, messages "
              "and launches to stay as they were");
    if (plan.microBatches > model.plan().numMicroBatches) {
      answer.assumptions.push_back(
          "kernels of smaller micro-batches are mostly less efficient, which "
          "is not in it: jobs will take longer than that");
    }
  }
}

std::string percentOf(double share) { return percentText(std::llround(share * 1e6), 1'000'000); }

/// Counts the parts of an answer that are done. Ends it where nobody wants it any more.
class Parts {
 public:
  explicit Parts(const WhatIfQuestion& question) : question_(question) {}

  void next() {
    requireWanted();
    if (question_.progress != nullptr) ++question_.progress->done;
  }
  void requireWanted() const {
    if (question_.stop.stop_requested()) throw Error("the prediction was cancelled");
  }
  /// The run of a timeline, which ends likewise.
  Run runOf(Timeline timeline, int threads) const {
    Run run(std::move(timeline), threads);
    if (question_.stop.stop_possible()) run.endWhen(question_.stop);
    return run;
  }

 private:
  const WhatIfQuestion& question_;
};

/// WhatIfAnswer::changedInLine.
std::optional<WhatIfFigures> inLine(const RunModel& model, const WhatIfQuestion& question,
                                    const Parts& parts, int threads, double pause) {
  PlanChanges plan = question.plan;
  plan.lines = CommStreams::kRank;
  RunModel::SimulatedRun changed;
  try {
    changed = model.run(plan, question.run);
  } catch (const Error&) {
    return std::nullopt;
  }
  const Run run = parts.runOf(std::move(changed.timeline), threads);
  return whatIfFigures(run, {}, pause, changed.batch, false);
}

}  // namespace

double meanPauseOf(const RunSummary& summary, const CountedSteps& counted) {
  double sum = 0;
  double count = 0;
  for (const StepSummary& step : summary.steps) {
    if (!counted.contains(step.step) || !step.isFollowed) continue;
    sum += static_cast<double>(step.betweenSteps);
    ++count;
  }
  return ratio(sum, count);
}

WhatIfFigures whatIfFigures(const Run& run, const CountedSteps& counted,
                            std::optional<double> pause, double perStep, bool withClasses) {
  const JobGraph& graph = run.graph();
  WhatIfFigures figures;
  double count = 0;
  double length = 0;  // with the pauses after them
  const double meanPause = pause ? *pause : meanPauseOf(run.summary(), counted);
  double steps = 0;
  double busy = 0;
  double idle = 0;
  const auto stages = stagesByPosition(graph);
  std::map<int, WhatIfFigures::Rank> ranks;
  std::map<int, int> positions;  // by the number of the rank
  for (const JobGraph::Rank& rank : graph.ranks()) {
    positions[rank.number] = rank.position;
    WhatIfFigures::Rank& of = ranks[rank.position];
    of.position = rank.position;
    const auto found = stages.find(rank.position);
    if (found != stages.end()) of.stages = {found->second.begin(), found->second.end()};
  }
  for (const StepSummary& step : run.summary().steps) {
    if (!counted.contains(step.step)) continue;
    ++count;
    length += static_cast<double>(step.window());
    const bool isKnown = !pause && step.isFollowed;
    length += isKnown ? static_cast<double>(step.betweenSteps) : meanPause;
    steps += stepsIn(graph, step);
    for (const RankStep& rank : step.ranks) {
      busy += static_cast<double>(rank.busy);
      idle += static_cast<double>(rank.idle);
      ranks[positions[rank.rank]].work += static_cast<double>(rank.busy);
    }
  }
  for (std::size_t r = 0; withClasses && r < graph.ranks().size(); ++r) {
    WhatIfFigures::Rank& of = ranks[graph.ranks()[r].position];
    for (const Bubble& bubble : run.bubbles().byRank[r]) {
      if (!counted.contains(bubble.step)) continue;
      of.bubbles[static_cast<std::size_t>(bubble.bubbleClass)] +=
          static_cast<double>(bubble.end - bubble.begin);
    }
  }
  for (auto& [position, rank] : ranks) {
    rank.work /= std::max(count, 1.0);
    for (double& time : rank.bubbles) time /= std::max(count, 1.0);
    figures.ranks.push_back(std::move(rank));
  }
  const MedianStep median = medianStepOf(run.summary(), counted);
  figures.step = median.window;
  figures.wall = pause ? median.window + std::llround(*pause) : median.wall;
  const MeanStep mean = meanStepOf(run.summary(), counted);
  figures.meanStep = mean.window;
  figures.meanWall = pause ? mean.window + *pause : mean.wall;
  figures.bubbleRatio = ratio(idle, busy + idle);
  figures.perSecond = perStep * 1e9 * ratio(steps, length);
  return figures;
}

std::string whyNoOtherPlan(const std::optional<double>& modelError, const std::string& noModel) {
  if (!modelError) return "no answer about another plan: " + noModel;
  if (std::abs(*modelError) <= WhatIfAnswer::kMostError) return {};
  return "no answer about another plan: the simulation of the run as it was is off by " +
         percentOf(std::abs(*modelError)) + ", more than " + percentOf(WhatIfAnswer::kMostError) +
         "; something holds the run up that jobs, messages and launches do not show, such as ranks "
         "that share processors";
}

double WhatIfFigures::ofClass(BubbleClass bubbleClass) const {
  double sum = 0;
  for (const Rank& rank : ranks) sum += rank.bubbles[static_cast<std::size_t>(bubbleClass)];
  return sum;
}

double WhatIfFigures::work() const {
  double sum = 0;
  for (const Rank& rank : ranks) sum += rank.work;
  return sum;
}

double WhatIfAnswer::changeTo(const WhatIfFigures& figures) const {
  const auto paid = [&](const WhatIfFigures& each) {
    return static_cast<double>(isOfWall ? each.wall.value_or(each.step) : each.step);
  };
  return paid(unchanged) > 0 ? paid(figures) / paid(unchanged) - 1 : 0;
}

WhatIfAnswer whatIf(const Run& run, const WhatIfQuestion& question) {
  Parts parts(question);
  WhatIfAnswer answer;
  const Timeline& timeline = run.timeline();
  if (run.graph().ranks().empty()) {
    throw Error("the inputs hold no compute job, so there is nothing to ask about");
  }
  const CountedSteps counted = run.usualSteps(question.steps);
  answer.assumptions = counted.leftOutTexts();
  const std::optional<double> tokens = tokensOf(timeline, question);
  answer.isInTokens = tokens.has_value();
  const double perStep = tokens.value_or(1);
  answer.measured = whatIfFigures(run, counted, {}, perStep);
  if (answer.measured.step <= 0) throw Error("no step that counts has any length");
  const MedianStep median = medianStepOf(run.summary(), counted);
  answer.isWholeRun = median.isWholeRun;
  answer.isOfWall = median.hasPauses();
  if (answer.isWholeRun) {
    answer.assumptions.emplace_back(
        "the run is asynchronous: the step is the whole run, while its pipeline is full");
  }

  parts.next();
  const RunAgain again(run, counted);
  parts.next();
  answer.unchanged = answer.measured;
  {
    Timeline same = again.run();
    answer.replayError = largestDifference(timeline, same);
    if (answer.replayError != 0) {
      answer.unchanged =
          whatIfFigures(parts.runOf(std::move(same), run.threads()), counted, {}, perStep);
    }
  }
  parts.next();
  answer.schedule = toText(run.schedule().recognised);
  if (run.schedule().lacksUpdates) answer.assumptions.push_back(run.schedule().givenText());
  std::optional<RunBlocks> blocks;
  if (question.blocks) blocks = runBlocks(*question.blocks, timeline);
  const RunModel model(run, again, counted, blocks ? &*blocks : nullptr);
  parts.next();
  answer.noModel = model.reason();
  const double pause = meanPauseOf(run.summary(), counted);
  const CountedSteps all;
  WhatIfFigures simulated;
  if (answer.noModel.empty()) {
    try {
      RunModel::SimulatedRun same = model.run();
      answer.peaks = same.peaks;
      simulated =
          whatIfFigures(parts.runOf(std::move(same.timeline), run.threads()), all, pause, perStep);
      answer.modelError =
          static_cast<double>(simulated.step) / static_cast<double>(answer.measured.step) - 1;
    } catch (const Error& error) {
      parts.requireWanted();
      answer.noModel = error.what();
    }
  }
  parts.next();
  answer.isByModel = !question.plan.empty();
  if (!answer.isByModel) {
    addGrounds(run, counted, question, answer);
    answer.run = parts.runOf(again.run(question.run), run.threads());
    parts.next();
    answer.changed = whatIfFigures(answer.run, counted, {}, perStep);
    answer.changedPeaks = answer.peaks;  // the order of jobs stays
    answer.run.endWhen({});
    parts.next();
    return answer;
  }
  answer.unchanged = simulated;
  answer.refusal = whyNoOtherPlan(answer.modelError, answer.noModel);
  if (!answer.refusal.empty()) return answer;
  addGroundsOfPlan(model, question.plan, answer);
  RunModel::SimulatedRun changed = model.run(question.plan, question.run);
  answer.assumptions.insert(answer.assumptions.end(), changed.assumptions.begin(),
                            changed.assumptions.end());
  if (changed.batch != 1 && !answer.isInTokens) {
    answer.assumptions.emplace_back("steps/s counts steps of as many samples as the run's");
  }
  answer.run = parts.runOf(std::move(changed.timeline), run.threads());
  parts.next();
  answer.changed = whatIfFigures(answer.run, all, pause, perStep * changed.batch);
  answer.changedPeaks = changed.peaks;
  answer.changedPlan = changed.plan;
  if (question.plan.changesJobs() && !question.plan.lines && question.plan.transfers.empty() &&
      model.lines() == CommStreams::kAsReached) {
    answer.changedInLine = inLine(model, question, parts, run.threads(), pause);
  }
  answer.order = std::move(changed.order);
  answer.run.endWhen({});
  parts.next();
  return answer;
}

}  // namespace pipetrace
