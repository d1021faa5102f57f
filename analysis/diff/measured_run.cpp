#include "analysis/diff/measured_run.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "analysis/causes/culprits.h"
#include "analysis/causes/slower_than_others.h"
#include "analysis/causes/steps_that_lack_jobs.h"
#include "analysis/run/run.h"
#include "analysis/run/steps/rank_jobs.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

/// The steps of a run that are compared, as stretches of time of each pipeline: the windows of the
/// steps that count and have all their jobs. Where no step has all, all that count. A step of
/// several pipelines is one. An asynchronous run has no steps that begin and end. Its window is cut
/// where the first rank of its pipeline begins the first forward of each step. Where these are
/// fewer than kLeastSteps, it is cut into kParts stretches with equally many of these forwards.
class StepStretches {
 public:
  static constexpr std::size_t kLeastSteps = 8;
  static constexpr std::size_t kParts = 20;

  struct Stretch {
    Interval span;
    std::size_t index = 0;          ///< of the step, in the order of time
    std::int64_t microBatches = 0;  ///< of the pipeline; of an asynchronous run forwards that begin
  };

  /// It is of the steps that count. Both must outlive it.
  StepStretches(const Run& run, const CountedSteps& counted);

  std::size_t count() const { return numbers_.size(); }
  bool areOfAsynchronousRun() const { return isAsynchronous_; }
  std::size_t incomplete() const { return incomplete_; }
  bool allAreIncomplete() const { return allAreIncomplete_; }
  std::int32_t number(std::size_t step) const { return numbers_[step]; }
  /// From the windows of a step to the next ones, summed over ranks; empty: some pipeline has none.
  std::optional<Nanoseconds> between(std::size_t step) const { return between_[step]; }
  /// MeasuredRun::Step::loads.
  Nanoseconds loads(std::size_t step) const { return loads_[step]; }
  /// The stretches of a pipeline, an index in JobGraph::pipelines(); ascending, without overlap.
  const std::vector<Stretch>& of(std::size_t pipeline) const { return stretches_[pipeline]; }
  /// The pipeline of a rank, an index in JobGraph::ranks().
  std::size_t pipelineOf(std::uint32_t rank) const { return pipelines_[rank]; }
  /// The step that a job or message belongs to. In an asynchronous run it is the stretch in which
  /// it begins. Empty: none that is compared.
  std::optional<std::size_t> stepOf(std::size_t pipeline, const JobGraph::Node& node) const;

 private:
  void findSteps();
  void findPauses();
  Nanoseconds loadsIn(const StepSummary& step) const;
  void findStretches();
  void cut(std::size_t pipeline, const Interval& window);
  void countMicroBatches(std::size_t pipeline);

  const Run& run_;
  const CountedSteps& counted_;
  bool isAsynchronous_ = false;
  bool allAreIncomplete_ = false;
  std::size_t incomplete_ = 0;
  std::map<std::int32_t, std::size_t> indices_;  // by the number of the step
  std::vector<std::int32_t> numbers_;
  std::vector<std::optional<Nanoseconds>> between_;
  std::vector<Nanoseconds> loads_;
  std::vector<std::vector<Stretch>> stretches_;
  std::vector<std::size_t> pipelines_;
};

using Id = JobGraph::Id;

bool isForward(const JobGraph::Node& job) {
  return (job.kind == JobKind::kForward || job.kind == JobKind::kForwardBackward) &&
         job.event->part <= 0;
}

StepStretches::StepStretches(const Run& run, const CountedSteps& counted)
    : run_(run), counted_(counted) {
  const JobGraph& graph = run.graph();
  stretches_.resize(graph.pipelines().size());
  pipelines_.resize(graph.ranks().size());
  for (std::size_t p = 0; p < graph.pipelines().size(); ++p) {
    for (const std::uint32_t rank : graph.pipelines()[p]) pipelines_[rank] = p;
    for (const BubbleWindow& window : run.basis().pipelines()[p].windows) {
      isAsynchronous_ = isAsynchronous_ || window.isWholeRun;
    }
  }
  if (isAsynchronous_) {
    for (std::size_t p = 0; p < stretches_.size(); ++p) {
      for (const BubbleWindow& window : run.basis().pipelines()[p].windows) cut(p, window.span);
    }
    between_.resize(numbers_.size());
    loads_.resize(numbers_.size());
    return;
  }
  findSteps();
  findStretches();
}

void StepStretches::findSteps() {
  const StepsThatLackJobs lacking = stepsThatLackJobs(run_.basis(), counted_);
  allAreIncomplete_ = !lacking.steps.empty() && !lacking.whole;
  if (!allAreIncomplete_) incomplete_ = lacking.steps.size();
  std::set<std::int32_t> steps;  // that count
  for (const PipelineBasis& pipeline : run_.basis().pipelines()) {
    for (const BubbleWindow& window : pipeline.windows) {
      if (counted_.contains(window.step)) steps.insert(window.step);
    }
  }
  for (const std::int32_t step : steps) {
    const bool lacks = std::binary_search(lacking.steps.begin(), lacking.steps.end(), step);
    if (lacks && !allAreIncomplete_) continue;
    indices_.emplace(step, numbers_.size());
    numbers_.push_back(step);
  }
  findPauses();
}

void StepStretches::findPauses() {
  between_.resize(numbers_.size());
  loads_.resize(numbers_.size());
  std::set<std::size_t> last;  // steps that some pipeline ends with
  for (const StepSummary& step : run_.summary().steps) {
    const auto index = indices_.find(step.step);
    if (index == indices_.end()) continue;
    if (!step.isFollowed) last.insert(index->second);
    const auto ranks = static_cast<std::int64_t>(step.ranks.size());
    std::optional<Nanoseconds>& between = between_[index->second];
    between = between.value_or(0) + ranks * step.betweenSteps;
    loads_[index->second] += ranks * loadsIn(step);
  }
  for (const std::size_t index : last) {
    between_[index].reset();
    loads_[index] = 0;
  }
}

/// How long a rank of the pipeline loads data between a step and the next one: the one that does so
/// for longest.
Nanoseconds StepStretches::loadsIn(const StepSummary& step) const {
  if (step.betweenSteps == 0 || step.otherPhases > 0) return 0;
  const Interval pause{step.windowEnd, step.windowEnd + step.betweenSteps};
  const JobGraph& graph = run_.graph();
  Nanoseconds longest = 0;
  for (const JobGraph::Rank& rank : graph.ranks()) {
    if (rank.replica != step.replica) continue;
    const auto jobs = graph.nodes().subspan(rank.first, rank.end - rank.first);
    // Jobs are in the order of their begins, and only the one before a pause may reach into it.
    auto job = std::partition_point(jobs.begin(), jobs.end(), [&](const JobGraph::Node& each) {
      return each.begin < pause.begin;
    });
    if (job != jobs.begin()) --job;
    Nanoseconds time = 0;
    for (; job != jobs.end() && job->begin < pause.end; ++job) {
      const Nanoseconds inside = std::min(job->end, pause.end) - std::max(job->begin, pause.begin);
      if (loadsData(job->kind) && inside > 0) time += inside;
    }
    longest = std::max(longest, std::min(time, pause.length()));
  }
  return longest;
}

void StepStretches::findStretches() {
  for (std::size_t p = 0; p < stretches_.size(); ++p) {
    for (const BubbleWindow& window : run_.basis().pipelines()[p].windows) {
      const auto index = indices_.find(window.step);
      if (index != indices_.end()) stretches_[p].push_back({window.span, index->second, 0});
    }
    countMicroBatches(p);
  }
}

/// A step has as many micro-batches as its pipeline has forwards of one stage.
void StepStretches::countMicroBatches(std::size_t pipeline) {
  const JobGraph& graph = run_.graph();
  std::vector<std::map<std::int32_t, std::int64_t>> forwards(numbers_.size());  // by stage
  for (const std::uint32_t r : graph.pipelines()[pipeline]) {
    const JobGraph::Rank& rank = graph.ranks()[r];
    for (Id id = rank.first; id < rank.end; ++id) {
      const JobGraph::Node& job = graph.node(id);
      if (!isForward(job)) continue;
      const auto step = stepOf(pipeline, job);
      // Jobs without a stage are those of their rank.
      if (step) ++forwards[*step][job.stage >= 0 ? job.stage : -1 - static_cast<int>(r)];
    }
  }
  for (Stretch& each : stretches_[pipeline]) {
    for (const auto& [stage, count] : forwards[each.index]) {
      each.microBatches = std::max(each.microBatches, count);
    }
  }
}

void StepStretches::cut(std::size_t pipeline, const Interval& window) {
  const JobGraph& graph = run_.graph();
  const JobGraph::Rank& first = graph.ranks()[graph.pipelines()[pipeline].front()];
  std::vector<Nanoseconds> begins;  // of forwards
  std::vector<std::size_t> cuts;    // the first forwards of stretches
  std::int32_t latest = kNotGiven;
  for (Id id = first.first; id < first.end; ++id) {
    const JobGraph::Node& job = graph.node(id);
    if (!isForward(job) || job.begin < window.begin || job.begin >= window.end) continue;
    if (job.step > latest) cuts.push_back(begins.size());
    latest = std::max(latest, job.step);
    begins.push_back(job.begin);
  }
  if (cuts.size() < kLeastSteps) {
    cuts.clear();
    const std::size_t parts = std::min(kParts, begins.size());
    for (std::size_t part = 0; part < parts; ++part) {
      cuts.push_back(part * begins.size() / parts);
    }
  }
  if (cuts.empty()) cuts.push_back(0);
  std::vector<Stretch>& stretches = stretches_[pipeline];
  for (std::size_t i = 0; i < cuts.size(); ++i) {
    const bool isLast = i + 1 == cuts.size();
    const std::size_t to = isLast ? begins.size() : cuts[i + 1];
    const Interval span{i == 0 ? window.begin : begins[cuts[i]], isLast ? window.end : begins[to]};
    const std::size_t index = stretches.size();
    stretches.push_back({span, index, static_cast<std::int64_t>(to - cuts[i])});
    if (index == numbers_.size()) numbers_.push_back(static_cast<std::int32_t>(index));
  }
}

std::optional<std::size_t> StepStretches::stepOf(std::size_t pipeline,
                                                 const JobGraph::Node& node) const {
  if (isAsynchronous_) {
    const std::vector<Stretch>& stretches = stretches_[pipeline];
    const auto next = std::upper_bound(
        stretches.begin(), stretches.end(), node.begin,
        [](Nanoseconds time, const Stretch& each) { return time < each.span.begin; });
    if (next == stretches.begin()) return std::nullopt;
    const Stretch& found = *(next - 1);
    return node.begin < found.span.end ? std::optional(found.index) : std::nullopt;
  }
  const auto index = indices_.find(node.step);
  return index == indices_.end() ? std::nullopt : std::optional(index->second);
}

/// Whether jobs of steps that are compared wait for ranks without a log.
bool lacksRanks(const Run& run, const CountedSteps& counted, bool needsWhole) {
  for (const PipelineBasis& pipeline : run.basis().pipelines()) {
    for (const BubbleWindow& window : pipeline.windows) {
      const bool isCompared = counted.contains(window.step) && (window.isWhole || !needsWhole);
      if (isCompared && window.lacksRanks) return true;
    }
  }
  return false;
}

class RunMeasuring {
 public:
  RunMeasuring(const Run& run, const CountedSteps& counted)
      : timeline_(run.timeline()),
        run_(run),
        counted_(counted),
        graph_(run.graph()),
        stretches_(run, counted),
        stages_(timeline_, graph_, run.basis().times()) {}

  MeasuredRun measure() {
    result_.shape = shapeOf(timeline_, run_.topology());
    result_.shape.lacksRanks = lacksRanks(run_, counted_, !stretches_.allAreIncomplete());
    result_.phase = run_.summary().phase;
    result_.isAsynchronous = stretches_.areOfAsynchronousRun();
    result_.schedule = toText(run_.schedule().recognised);
    result_.leftOut = counted_.leftOutText();
    result_.incomplete = stretches_.incomplete();
    result_.allAreIncomplete = stretches_.allAreIncomplete();
    for (const auto& [rank, info] : timeline_.ranks) {
      const double tokens = info.tokensPerStep.value_or(0);
      if (tokens > result_.tokensPerStep.value_or(0)) result_.tokensPerStep = tokens;
    }
    addSteps();
    for (std::uint32_t r = 0; r < graph_.ranks().size(); ++r) {
      addBusy(r);
      addIdle(r);
      addJobs(r);
    }
    addMessages();
    return std::move(result_);
  }

 private:
  std::size_t stepCount() const { return stretches_.count(); }

  void addSteps() {
    std::set<std::int64_t> sizes;
    for (std::size_t i = 0; i < stepCount(); ++i) {
      MeasuredRun::Step& step = result_.steps.emplace_back();
      step.number = stretches_.number(i);
      step.between = stretches_.between(i);
      step.loads = stretches_.loads(i);
    }
    for (std::size_t p = 0; p < graph_.pipelines().size(); ++p) {
      const auto ranks = static_cast<std::int64_t>(graph_.pipelines()[p].size());
      for (const StepStretches::Stretch& each : stretches_.of(p)) {
        MeasuredRun::Step& step = result_.steps[each.index];
        step.window += ranks * each.span.length();
        step.ranks += ranks;
        step.microBatches += ranks * each.microBatches;
        sizes.insert(each.microBatches);
      }
    }
    if (sizes.size() == 1 && !result_.isAsynchronous) result_.microBatches = *sizes.begin();
  }

  std::size_t pipelineOf(std::uint32_t rank) const { return stretches_.pipelineOf(rank); }

  /// Where jobs overlap, the time is that of the one that began first.
  void addBusy(std::uint32_t r) {
    const int rank = graph_.ranks()[r].number;
    const std::vector<StepStretches::Stretch>& stretches = stretches_.of(pipelineOf(r));
    auto first = stretches.begin();
    Nanoseconds busyUpTo = kNsMin;
    Latest latest;
    RankJobs jobs(timeline_, rank, isCompute);
    while (const Event* const job = jobs.next()) {
      const Nanoseconds from = std::max(job->begin, busyUpTo);
      if (job->end <= from) continue;
      busyUpTo = job->end;
      while (first != stretches.end() && first->span.end <= from) ++first;
      for (auto each = first; each != stretches.end() && each->span.begin < job->end; ++each) {
        const Nanoseconds time =
            std::min(job->end, each->span.end) - std::max(from, each->span.begin);
        latest.in(result_.busy, {rank, job->stage, job->kind}, stepCount())[each->index] += time;
      }
    }
  }

  /// A map's entry that was asked for last: mostly it is the next one, too.
  struct Latest {
    MeasuredRun::WorkKey key{-1, -1, JobKind::kOther};
    std::vector<Nanoseconds>* list = nullptr;

    std::vector<Nanoseconds>& in(std::map<MeasuredRun::WorkKey, std::vector<Nanoseconds>>& all,
                                 const MeasuredRun::WorkKey& wanted, std::size_t steps) {
      if (list != nullptr && key == wanted) return *list;
      key = wanted;
      list = &all[wanted];
      if (list->empty()) list->resize(steps);
      return *list;
    }
  };

  MeasuredRun::IdleKey blameOf(const Bubble& bubble) const {
    MeasuredRun::IdleKey key{bubble.bubbleClass};
    const BubbleBlame blame = rowOf(bubble.bubbleClass).blame;
    if (blame == BubbleBlame::kLink) {
      const auto [from, to] = linkOf(graph_, bubble);
      if (from >= 0 && to >= 0) key.rank = std::min(from, to), key.other = std::max(from, to);
      return key;
    }
    if (bubble.culprit == JobGraph::kNone || blame == BubbleBlame::kNobody) return key;
    key.rank = graph_.ranks()[culpritRankOf(graph_, bubble)].number;
    if (blame == BubbleBlame::kStage) key.other = stages_.toBlame(bubble.culprit);
    return key;
  }

  /// The list of a key. Most keys come again soon, so the latest of each place are at hand.
  std::vector<Nanoseconds>& idleOf(const MeasuredRun::IdleKey& key) {
    const auto place = static_cast<std::size_t>(key.rank + 1) * kBubbleClassCount +
                       static_cast<std::size_t>(key.bubbleClass);
    auto& [known, list] = latestIdle_[place % latestIdle_.size()];
    if (list != nullptr && known == key) return *list;
    known = key;
    list = &result_.idle[key];
    list->resize(stepCount());
    return *list;
  }

  void addIdle(std::uint32_t r) {
    const std::vector<StepStretches::Stretch>& stretches = stretches_.of(pipelineOf(r));
    auto first = stretches.begin();
    for (const Bubble& bubble : run_.bubbles().byRank[r]) {
      while (first != stretches.end() && first->span.end <= bubble.begin) ++first;
      if (first == stretches.end()) return;
      if (first->span.begin >= bubble.end) continue;
      std::vector<Nanoseconds>& list = idleOf(blameOf(bubble));
      for (auto each = first; each != stretches.end() && each->span.begin < bubble.end; ++each) {
        list[each->index] +=
            std::min(bubble.end, each->span.end) - std::max(bubble.begin, each->span.begin);
      }
    }
  }

  void addJobs(std::uint32_t r) {
    const JobGraph::Rank& rank = graph_.ranks()[r];
    MeasuredRun::WorkKey latest{-1, -1, JobKind::kOther};
    MeasuredRun::Lengths* lengths = nullptr;
    std::map<std::int32_t, std::pair<Nanoseconds, std::int64_t>>* byNumber = nullptr;
    for (Id id = rank.first; id < rank.end; ++id) {
      const JobGraph::Node& job = graph_.node(id);
      if (!isCompute(job.kind)) continue;
      const auto step = stretches_.stepOf(pipelineOf(r), job);
      if (!step) continue;
      const MeasuredRun::WorkKey key{rank.number, job.stage, job.kind};
      if (lengths == nullptr || key != latest) {
        latest = key;
        lengths = &result_.jobs[key];
        lengths->sums.resize(stepCount());
        lengths->counts.resize(stepCount());
        byNumber = &result_.byMicroBatch[{job.stage, job.kind}];
        result_.kinds.insert(job.kind);
      }
      const Nanoseconds length = job.end - job.begin;
      const int count = job.event->part <= 0 ? 1 : 0;  // parts add up to a job
      lengths->sums[*step] += length;
      lengths->counts[*step] += count;
      if (job.microBatch < 0) continue;
      auto& [sum, jobs] = (*byNumber)[job.microBatch];
      sum += length;
      jobs += count;
    }
  }

  void addMessages() {
    result_.meetsInside = !graph_.inside().empty();
    MeasuredRun::Lengths* lengths = nullptr;
    MeasuredRun::Link latest{-1, -1};
    for (const JobGraph::Rank& rank : graph_.ranks()) {
      result_.logsMessages = result_.logsMessages || rank.logsMessages;
    }
    for (std::size_t id = graph_.jobCount(); id < graph_.messageEnd(); ++id) {
      const JobGraph::Node& message = graph_.node(static_cast<Id>(id));
      if (message.inputs[0] == JobGraph::kNone) continue;
      const auto step = stretches_.stepOf(pipelineOf(message.rank), message);
      if (!step) continue;
      const int from = graph_.ranks()[graph_.node(message.inputs[0]).rank].number;
      const int to = graph_.ranks()[message.rank].number;
      const MeasuredRun::Link link(std::min(from, to), std::max(from, to));
      if (lengths == nullptr || link != latest) {
        latest = link;
        lengths = &result_.messages[link];
        lengths->sums.resize(stepCount());
        lengths->counts.resize(stepCount());
      }
      lengths->sums[*step] += message.end - message.begin;
      ++lengths->counts[*step];
    }
  }

  const Timeline& timeline_;
  const Run& run_;
  const CountedSteps& counted_;
  const JobGraph& graph_;
  const StepStretches stretches_;
  const SlowerStages stages_;
  MeasuredRun result_;
  std::array<std::pair<MeasuredRun::IdleKey, std::vector<Nanoseconds>*>, 1024> latestIdle_{};
};

}  // namespace

Nanoseconds roundedMean(Nanoseconds sum, std::int64_t weight) {
  const std::int64_t rest = sum % weight;
  return sum / weight + (rest >= weight - rest ? 1 : 0);
}

std::vector<Nanoseconds> exactMeans(const std::vector<Nanoseconds>& sums, std::int64_t weight) {
  std::vector<Nanoseconds> means;
  means.reserve(sums.size());
  for (const Nanoseconds sum : sums) means.push_back(sum / weight);
  const Nanoseconds all = std::accumulate(sums.begin(), sums.end(), Nanoseconds{});
  const Nanoseconds missing =
      roundedMean(all, weight) - std::accumulate(means.begin(), means.end(), Nanoseconds{});
  std::vector<std::size_t> order(sums.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return sums[a] % weight > sums[b] % weight;
  });
  for (std::size_t i = 0; i < static_cast<std::size_t>(missing); ++i) ++means[order[i]];
  return means;
}

ComparedShape shapeOf(const Timeline& timeline, const Topology& topology) {
  ComparedShape shape;
  shape.places = topology.places;
  for (const auto& [rank, place] : shape.places) {
    shape.depth = std::max(shape.depth, place.depth);
    shape.chunks = std::max(shape.chunks, place.chunks);
  }
  shape.ranksOfStage = topology.ranksOfStage;
  shape.stages = shape.ranksOfStage.empty() ? shape.depth * shape.chunks
                                            : static_cast<int>(shape.ranksOfStage.size());
  shape.pipelines = static_cast<int>(topology.replicas().size());
  shape.tensorRanks = topology.tensorRanks;
  shape.isInferred = topology.inferred;
  for (const auto& [rank, info] : timeline.ranks) {
    shape.worldSize = std::max(shape.worldSize, info.worldSize.value_or(0));
  }
  return shape;
}

MeasuredRun measureRun(const Run& run, const std::vector<NumberRange>& steps) {
  if (run.graph().ranks().empty()) {
    throw Error("the inputs hold no compute job, so there is nothing to compare");
  }
  return RunMeasuring(run, run.countedSteps(steps)).measure();
}

std::vector<NumberRange> comparedSteps(const MeasuredRun& run,
                                       const std::vector<NumberRange>& chosen) {
  if (run.incomplete == 0) return chosen;
  std::vector<NumberRange> compared;
  for (const MeasuredRun::Step& step : run.steps) {
    const bool follows = !compared.empty() && compared.back().end == step.number;
    if (!follows) compared.push_back({step.number, step.number});
    compared.back().end = step.number + 1;
  }
  return compared;
}

Nanoseconds meanStepOf(const MeasuredRun& run) {
  Nanoseconds windows = 0;
  std::int64_t ranks = 0;
  for (const MeasuredRun::Step& step : run.steps) {
    windows += step.window;
    ranks += step.ranks;
  }
  return roundedMean(windows, ranks);
}

std::optional<Nanoseconds> meanBetweenOf(const MeasuredRun& run) {
  Nanoseconds between = 0;
  std::int64_t ranks = 0;
  for (const MeasuredRun::Step& step : run.steps) {
    if (!step.between) continue;
    between += *step.between;
    ranks += step.ranks;
  }
  return ranks > 0 ? std::optional(roundedMean(between, ranks)) : std::nullopt;
}

MeasuredRun withSteps(const MeasuredRun& run, const std::vector<std::size_t>& chosen) {
  const auto choose = [&](auto& values) {
    auto kept = values;
    kept.clear();
    for (const std::size_t i : chosen) kept.push_back(values[i]);
    values = std::move(kept);
  };
  MeasuredRun part = run;
  choose(part.steps);
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    const bool follows = i + 1 < chosen.size() && chosen[i + 1] == chosen[i] + 1;
    if (!follows) part.steps[i].between.reset(), part.steps[i].loads = 0;
  }
  for (auto& [key, times] : part.busy) choose(times);
  for (auto& [key, times] : part.idle) choose(times);
  for (auto& [key, lengths] : part.jobs) choose(lengths.sums), choose(lengths.counts);
  for (auto& [link, lengths] : part.messages) choose(lengths.sums), choose(lengths.counts);
  return part;
}

}  // namespace pipetrace
