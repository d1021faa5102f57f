#include "viewer/what_if/ground.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "analysis/run/plans/recognise_schedule.h"
#include "analysis/run/steps/median_step.h"
#include "analysis/what_if/run_again.h"
#include "analysis/what_if/run_model.h"
#include "trace/append.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

/// The events of one step alone, of the phase that counts, with what they refer to.
Timeline cutOut(const Timeline& timeline, std::int32_t step, Phase phase) {
  Timeline cut;
  cut.ranks = timeline.ranks;
  std::vector<Argument> list;
  const auto textOf = [&](StringId id) { return cut.strings.intern(timeline.strings[id]); };
  for (const Track& track : timeline.tracks) {
    if (track.lane == kBubbleLane) continue;
    Track part = track;
    part.events.clear();
    for (const Event& event : track.events) {
      if (event.step != step || event.phase != phase) continue;
      Event own = event;
      own.name = textOf(event.name);
      list.clear();
      for (Argument argument : timeline.argumentsOf(event)) {
        argument.key = textOf(argument.key);
        if (argument.type == ArgumentType::kText) argument.text = textOf(argument.text);
        list.push_back(argument);
      }
      own.argumentCount = 0;
      cut.setArguments(own, list);
      part.events.push_back(own);
    }
    if (!part.events.empty()) cut.tracks.push_back(std::move(part));
  }
  cut.sort();
  return cut;
}

}  // namespace

/// The median step by itself.
struct WhatIfGround::Step {
  Step(Timeline timeline, int threads)
      : run(std::move(timeline), threads), again(run, counted), spans(stepSpans(run.timeline())) {}

  Run run;
  CountedSteps counted;
  RunAgain again;
  WhatIfFigures figures;
  std::vector<StepSpan> spans;
  std::optional<RunModel> model;        // of the whole run
  std::optional<RunModel> blocksModel;  // the same with blocks that are alike
  std::optional<WhatIfFigures> simulated;
  std::vector<double> peaks;
};

WhatIfGround::~WhatIfGround() = default;

WhatIfGround::WhatIfGround(const Run& run, const std::stop_token& stop) {
  const auto requireWanted = [&] {
    if (stop.stop_requested()) throw Error("the prediction was cancelled");
  };
  if (run.graph().ranks().empty()) {
    throw Error("the inputs hold no compute job, so there is nothing to ask about");
  }
  const CountedSteps counted = run.usualSteps();
  const MedianStep median = medianStepOf(run.summary(), counted);
  if (median.window <= 0) throw Error("no step that counts has any length");
  requireWanted();
  findFacts(run);
  facts_.isWholeRun = median.isWholeRun;
  facts_.isOfWall = median.hasPauses();
  pause_ = meanPauseOf(run.summary(), counted);
  double tokens = 0;
  for (const auto& [rank, info] : run.timeline().ranks) {
    tokens = std::max(tokens, info.tokensPerStep.value_or(0));
  }
  facts_.isInTokens = tokens > 0;
  if (tokens > 0) perStep_ = tokens;
  facts_.measured = whatIfFigures(run, counted, {}, perStep_);
  if (median.isWholeRun) {
    facts_.noPreview =
        "the run is asynchronous, so no step stands for it: the whole run is predicted once the "
        "change is made";
  } else if (median.step == kNotGiven) {
    facts_.noPreview = "no step of the run has a number";
  }
  requireWanted();
  const RunAgain again(run, counted);
  requireWanted();
  const RunModel model(run, again, counted);
  std::string noModel = model.reason();
  std::optional<WhatIfFigures> simulated;
  if (noModel.empty()) {
    facts_.microBatches = model.plan().numMicroBatches;
    facts_.chunks = model.chunks();
    facts_.ownSchedule = model.schedule();
    try {
      RunModel::SimulatedRun same = model.run();
      facts_.peaks = same.peaks;
      const Run asItWas(std::move(same.timeline), run.threads());
      const WhatIfFigures figures = whatIfFigures(asItWas, {}, pause_, perStep_);
      facts_.modelError =
          static_cast<double>(figures.step) / static_cast<double>(facts_.measured.step) - 1;
    } catch (const Error& error) {
      noModel = error.what();
    }
  }
  facts_.noPlan = whyNoOtherPlan(facts_.modelError, noModel);
  requireWanted();
  if (!facts_.noPreview.empty()) return;
  facts_.step = median.step;
  step_ = std::make_unique<Step>(cutOut(run.timeline(), median.step, run.summary().phase),
                                 run.threads());
  for (const Track& track : step_->run.timeline().tracks) {
    if (track.lane == kComputeLane) facts_.stepJobs += track.events.size();
  }
  step_->figures = whatIfFigures(step_->run, step_->counted, pause_, perStep_);
  step_->run.join(step_->run.bubbleLanes());
  step_->peaks = facts_.peaks;
  if (!facts_.noPlan.empty()) return;
  step_->model = model;
  try {
    const RunModel::SimulatedRun same = step_->model->fewSteps({}, {});
    const Run few(same.timeline, run.threads());
    step_->simulated = whatIfFigures(few, {}, pause_, perStep_);
    if (facts_.namesBlocks) {
      const RunBlocks blocks = runBlocks({}, run.timeline());
      step_->blocksModel.emplace(run, again, counted, &blocks);
    }
  } catch (const Error&) {
    facts_.namesBlocks = false;  // the answer says what is wrong with them
  }
}

const Run* WhatIfGround::step() const { return step_ ? &step_->run : nullptr; }

void WhatIfGround::findFacts(const Run& run) {
  const JobGraph& graph = run.graph();
  std::set<int> stages;
  std::set<int> ranks;
  std::set<WhatIfChanges::Link> links;
  for (const JobGraph::Rank& rank : graph.ranks()) ranks.insert(rank.number);
  for (JobGraph::Id id = 0; id < graph.jobCount(); ++id) {
    const JobGraph::Node& job = graph.node(id);
    if (isCompute(job.kind) && job.stage >= 0) stages.insert(job.stage);
  }
  for (auto id = static_cast<JobGraph::Id>(graph.jobCount()); id < graph.messageEnd(); ++id) {
    const JobGraph::Node& message = graph.node(id);
    const JobGraph::Id maker = message.inputs[0];
    const JobGraph::Message& ends = graph.message(id);
    const int to = graph.ranks()[message.rank].number;
    int from = ends.receive != nullptr ? ends.receive->peer : -1;
    if (maker != JobGraph::kNone) from = graph.ranks()[graph.node(maker).rank].number;
    if (from >= 0 && from != to) links.insert(std::minmax(from, to));
  }
  facts_.stages = {stages.begin(), stages.end()};
  facts_.ranks = {ranks.begin(), ranks.end()};
  facts_.links = {links.begin(), links.end()};
  facts_.schedule = toText(run.schedule().recognised);
  facts_.meetsInside = !graph.inside().empty();
  if (links.empty()) {
    facts_.noLinks = ranks.size() < 2
                         ? "the run has one rank, so there are no messages"
                         : "the logs have no messages: the time between a job and the one on "
                           "another rank that waited for it stays as it was";
  }
  try {
    facts_.namesBlocks = loggedPartition(run.timeline()).has_value();
  } catch (const Error&) {
    facts_.namesBlocks = false;  // they contradict each other
  }
}

double StepPreview::change() const {
  return before.step > 0 ? static_cast<double>(figures.step) / static_cast<double>(before.step) - 1
                         : 0;
}

StepPreview WhatIfGround::preview(const WhatIfChanges& changes, bool withClasses) const {
  if (!step_) throw Error(facts_.noPreview);
  const WhatIfQuestion question = changes.question();
  StepPreview preview =
      question.plan.empty() ? ofRun(question, withClasses) : ofPlan(question, withClasses);
  preview.hasClasses = withClasses;
  return preview;
}

StepPreview WhatIfGround::ofRun(const WhatIfQuestion& question, bool withClasses) const {
  StepPreview preview;
  preview.before = step_->figures;
  Run changed(step_->again.run(question.run), step_->run.threads());
  preview.figures = whatIfFigures(changed, step_->counted, pause_, perStep_, withClasses);
  preview.peaks = step_->peaks;
  auto run = std::make_shared<PredictedRun>(std::move(changed), withClasses);
  run->compareWith(step_->run.timeline(), step_->spans, false, facts_.step);
  preview.run = std::move(run);
  return preview;
}

StepPreview WhatIfGround::ofPlan(const WhatIfQuestion& question, bool withClasses) const {
  if (!facts_.noPlan.empty()) throw Error(facts_.noPlan);
  if (question.blocks && (question.blocks->partition || !step_->blocksModel)) {
    throw Error("a change with the blocks of the model is predicted once it is made");
  }
  const RunModel& model = question.blocks ? *step_->blocksModel : *step_->model;
  RunModel::SimulatedRun simulated = model.fewSteps(question.plan, question.run);
  StepPreview preview;
  preview.isByModel = true;
  preview.before = *step_->simulated;
  preview.peaks = simulated.peaks;
  preview.assumptions = simulated.assumptions;
  Run changed(std::move(simulated.timeline), step_->run.threads());
  preview.figures = whatIfFigures(changed, {}, pause_, perStep_ * simulated.batch, withClasses);
  auto run = std::make_shared<PredictedRun>(std::move(changed), withClasses);
  run->compareWith(step_->run.timeline(), step_->spans, true, facts_.step);
  preview.run = std::move(run);
  return preview;
}

}  // namespace pipetrace
