#include "analysis/run/run.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <utility>

#include "analysis/events_without_time.h"
#include "analysis/run/plans/measured_plan.h"
#include "analysis/run/steps/incomplete_steps.h"
#include "analysis/run/steps/median_step.h"
#include "trace/error.h"
#include "trace/threads/turns.h"

namespace pipetrace {
namespace {

/// The first that asks makes it, others wait for that one. Where making it throws, the next one
/// tries again.
template <typename Part>
class MadeOnce {
 public:
  template <typename Make>
  Part& get(const Make& make) {
    if (Part* const part = ready_.load(std::memory_order_acquire)) return *part;
    const std::lock_guard lock(mutex_);
    if (!part_) {
      part_ = make();
      ready_.store(part_.get(), std::memory_order_release);
    }
    return *part_;
  }
  /// Null before it is made. Nobody may use it meanwhile, nor during take().
  Part* find() { return part_.get(); }
  std::unique_ptr<Part> take() {
    ready_ = nullptr;
    return std::move(part_);
  }

 private:
  std::mutex mutex_;
  std::unique_ptr<Part> part_;
  std::atomic<Part*> ready_{nullptr};
};

constexpr int kMostTries = 16;

/// The steps of the first pipeline, the last one first.
std::vector<StepWindow> lastStepsOf(const RunSummary& summary) {
  std::vector<StepWindow> steps;
  if (summary.steps.empty()) return steps;
  int first = summary.steps.front().replica;
  if (!summary.otherSteps.empty()) first = std::min(first, summary.otherSteps.front().replica);
  for (auto step = summary.steps.rbegin(); step != summary.steps.rend(); ++step) {
    const bool isWanted = step->replica == first && step->step != kNotGiven;
    if (isWanted && steps.size() < kMostTries) steps.push_back(*step);
  }
  return steps;
}

Nanoseconds stepOf(const Run& run) {
  const MedianStep step = medianStepOf(run.timeline(), run.topology(), run.usualSteps());
  return step.isWholeRun ? 0 : step.window;
}

}  // namespace

struct Run::Parts {
  Timeline timeline;
  int threads = 1;
  std::stop_token stop;
  std::atomic<int> made{0};
  // Each refers to those before it.
  MadeOnce<Topology> topology;
  MadeOnce<RunSummary> summary;
  MadeOnce<JobGraph> graph;
  MadeOnce<RunBasis> basis;
  MadeOnce<Bubbles> bubbles;
  MadeOnce<FollowedSchedule> schedule;

  void requireWanted() const {
    if (stop.stop_requested()) throw Error("the analysis was cancelled");
  }

  template <typename Part, typename Make>
  Part& get(MadeOnce<Part>& part, const Make& make) {
    return part.get([&] {
      requireWanted();
      ++made;
      return make();
    });
  }
};

Run::Run(Timeline timeline, int threads) : parts_(std::make_unique<Parts>()) {
  parts_->timeline = std::move(timeline);
  useThreads(threads);
}

Run::Run(Run&& other) noexcept = default;
Run& Run::operator=(Run&& other) noexcept = default;
Run::~Run() = default;

const Timeline& Run::timeline() const { return parts_->timeline; }

int Run::threads() const { return parts_->threads; }

int Run::partsMade() const { return parts_->made; }

void Run::endWhen(std::stop_token stop) { parts_->stop = std::move(stop); }

void Run::requireWanted() const { parts_->requireWanted(); }

void Run::useThreads(int threads) { parts_->threads = threadCount(threads); }

const Topology& Run::topology() const {
  return parts_->get(parts_->topology,
                     [&] { return std::make_unique<Topology>(topologyOf(timeline(), threads())); });
}

const RunSummary& Run::summary() const {
  return parts_->get(parts_->summary, [&] {
    return std::make_unique<RunSummary>(summarize(timeline(), topology(), threads()));
  });
}

const JobGraph& Run::graph() const {
  return parts_->get(parts_->graph,
                     [&] { return std::make_unique<JobGraph>(timeline(), topology(), threads()); });
}

const RunBasis& Run::basis() const {
  return parts_->get(parts_->basis, [&] {
    auto basis = std::make_unique<RunBasis>(graph(), summary(), threads());
    basis->planMissingRanks(timeline(), topology(), threads());
    return basis;
  });
}

const Bubbles& Run::bubbles() const {
  return parts_->get(parts_->bubbles, [&] {
    return std::make_unique<Bubbles>(classifyBubbles(basis(), threads()));
  });
}

const FollowedSchedule& Run::schedule() const {
  return parts_->get(parts_->schedule, [&] {
    return std::make_unique<FollowedSchedule>(followedSchedule(timeline(), topology(), basis()));
  });
}

CountedSteps Run::countedSteps(std::vector<NumberRange> chosen) const {
  const std::vector<std::int32_t> untimed = stepsWithUntimedWork(timeline());
  std::vector<CountedSteps::Step> steps;
  for (const PipelineBasis& pipeline : basis().pipelines()) {
    std::map<std::int32_t, const BubbleWindow*> windows;
    for (const BubbleWindow& window : pipeline.windows) windows[window.step] = &window;
    for (const StepSummary& step : summary().steps) {
      if (step.replica != pipeline.replica) continue;
      const auto window = windows.find(step.step);
      const bool isWhole = window != windows.end() && window->second->isWhole;
      const bool isTimed = !std::binary_search(untimed.begin(), untimed.end(), step.step);
      steps.push_back({step.step, step.window(), isWhole, step.isWholeRun, isTimed});
    }
  }
  return {std::move(chosen), steps};
}

CountedSteps Run::usualSteps(std::vector<NumberRange> chosen) const {
  const std::vector<std::int32_t> incomplete = incompleteSteps(timeline(), topology(), threads());
  const std::vector<std::int32_t> untimed = stepsWithUntimedWork(timeline());
  std::vector<CountedSteps::Step> steps;
  for (const StepSummary& step : summary().steps) {
    if (step.step == kNotGiven) continue;
    const bool isWhole = !std::binary_search(incomplete.begin(), incomplete.end(), step.step);
    const bool isTimed = !std::binary_search(untimed.begin(), untimed.end(), step.step);
    steps.push_back({step.step, step.window(), isWhole, step.isWholeRun, isTimed});
  }
  return CountedSteps(std::move(chosen), steps).wholeOnes();
}

void Run::freeTables() {
  if (RunBasis* const basis = parts_->basis.find()) basis->freeTables();
}

void Run::letGo() {
  parts_->schedule.take();
  parts_->bubbles.take();
  parts_->basis.take();
  parts_->graph.take();
  parts_->summary.take();
  parts_->topology.take();
}

BubbleLanes Run::bubbleLanes() const {
  BubbleLanes lanes = pipetrace::bubbleLanes(timeline(), graph(), bubbles(), threads());
  addOtherPhases(timeline(), topology(), summary(), lanes, threads());
  return lanes;
}

void Run::join(BubbleLanes lanes) { joinBubbles(parts_->timeline, std::move(lanes)); }

Timeline Run::takeTimeline() && {
  letGo();
  return std::move(parts_->timeline);
}

ReadyRun Run::ready(BubbleChoice choice) && {
  summary();
  if (choice != BubbleChoice::kAsRead) {
    std::erase_if(parts_->timeline.tracks,
                  [](const Track& track) { return track.lane == kBubbleLane; });
  }
  if (choice == BubbleChoice::kFound && !summary().steps.empty()) {
    bubbles();
    parts_->schedule.take();
    parts_->basis.take();  // the events need its memory
    BubbleLanes lanes =
        pipetrace::bubbleLanes(timeline(), graph(), std::move(*parts_->bubbles.take()), threads());
    parts_->graph.take();
    addOtherPhases(timeline(), topology(), summary(), lanes, threads());
    join(std::move(lanes));
  }
  const std::unique_ptr<RunSummary> summary = parts_->summary.take();
  return {std::move(*this).takeTimeline(), std::move(*summary)};
}

RunPlan planOfRun(const Run& run) {
  MeasuredPlan best;
  best.problem = "it has no step with compute jobs";
  bool isFirst = true;
  for (const StepWindow& step : lastStepsOf(run.summary())) {
    MeasuredPlan measured = measuredPlan(run.timeline(), run.topology(), step.replica, step.step);
    const bool isWhole = measured.isWhole();
    if (isFirst || isWhole) best = std::move(measured);
    if (isWhole) break;
    isFirst = false;
  }
  RunPlan plan{.problem = best.problem};
  if (!best.exists()) return plan;
  plan.ranks = best.plan.numRanks();
  plan.stages = best.plan.numStages;
  plan.microBatches = best.plan.numMicroBatches;
  if (hasSharedStages(best.plan)) plan.ranksOfStage = best.plan.placement.ranksOfStage;
  plan.step = stepOf(run);
  plan.schedule = recogniseSchedule(best.plan);
  return plan;
}

}  // namespace pipetrace
