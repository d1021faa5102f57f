#include "analysis/diff/measured_run.h"

#include <algorithm>
#include <memory>
#include <span>

#include "analysis/diff/exact_means.h"
#include "analysis/diff/step_stretches.h"
#include "analysis/explain/beside_others.h"
#include "analysis/explain/culprits.h"
#include "analysis/steps/rank_jobs.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

using Id = JobGraph::Id;

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
