#include "analysis/causes/slower_than_others.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "analysis/causes/change_point.h"
#include "analysis/median.h"
#include "analysis/ratio.h"
#include "trace/log/fused_pair.h"
#include "trace/threads/in_parallel.h"

namespace pipetrace {

using Id = JobGraph::Id;

SlowerStages::SlowerStages(const Timeline& timeline, const JobGraph& graph,
                           const MedianDurations& whole, const CountedSteps& counted, int threads)
    : timeline_(timeline), graph_(graph) {
  const bool haveMeetings = !graph.inside().empty();
  std::optional<MedianDurations> own;
  if (haveMeetings) own.emplace(graph, threads, counted, MedianDurations::Of::kOwnTimes);
  std::optional<MedianDurations> kernels;
  if (haveMeetings) kernels.emplace(graph, threads, counted, MedianDurations::Of::kKernels);
  const MedianDurations& times = own ? *own : whole;
  struct Group {
    int latest = -1;  // the rank whose jobs of it came last
    std::int32_t stage = kNotGiven;
    double jobs = 0;
    double deviation = 0;
  };
  std::vector<Group> groups;  // of jobs
  std::map<std::int32_t, Stage> pairs;
  for (const JobGraph::Rank& rank : graph.ranks()) {
    for (Id id = rank.first; id < rank.end; ++id) {
      const JobGraph::Node& job = graph.node(id);
      if (!isCompute(job.kind)) continue;
      const std::uint32_t group = times.group(id);
      if (group == 0) continue;
      if (group >= groups.size()) groups.resize(group + 1);
      Group& of = groups[group];
      of.jobs += 1;
      if (const auto usual = static_cast<double>(times.median(id)); usual > 0) {
        of.deviation += std::abs(static_cast<double>(job.end - job.begin) / usual - 1);
      }
      if (std::exchange(of.latest, rank.number) == rank.number) continue;
      of.stage = job.stage;
      const bool isPair = job.kind == JobKind::kForwardBackward;
      if (!isPair) unfused_.insert(job.stage);
      Stage& stage = isPair ? pairs[job.stage] : stages_[job.stage];
      stage.own += static_cast<double>(times.median(id));
      if (own) stage.moving += static_cast<double>(whole.median(id) - times.median(id));
      stage.usual += static_cast<double>(times.balanced(id));
      if (kernels) stage.kernels += static_cast<double>(kernels->median(id));
      if (kernels) stage.usualKernels += static_cast<double>(kernels->balanced(id));
      stage.ranks.insert(rank.number);
    }
  }
  for (const Group& group : groups) {
    if (group.jobs == 0) continue;
    const auto found = stages_.find(group.stage);
    Stage& stage = found != stages_.end() ? found->second : pairs[group.stage];
    stage.jobs += group.jobs;
    stage.deviation += group.deviation;
  }
  for (auto& [number, stage] : pairs) {
    const auto [place, isNew] = stages_.try_emplace(number, stage);
    if (!isNew) place->second.ranks.insert(stage.ranks.begin(), stage.ranks.end());
  }
}

const SlowerStages::Stage& SlowerStages::of(std::int32_t stage) const {
  static const Stage none;
  const auto found = stages_.find(stage);
  return found == stages_.end() ? none : found->second;
}

bool SlowerStages::mayBeChance(std::int32_t stage) const {
  if (!graph_.inside().empty() || stages_.size() < 2) return false;
  constexpr double kSigma = 1.2533;     // over the mean deviation: the root of pi / 2
  constexpr double kOfMedian = 1.2533;  // over the standard error of the mean
  const auto mayBe = [&](const std::vector<std::int32_t>& stages) {
    double jobs = 0;
    double deviation = 0;
    for (const std::int32_t each : stages) {
      jobs += of(each).jobs;
      deviation += of(each).deviation;
    }
    const Factor factor = besideOthers(stages);
    if (jobs == 0 || !factor.isKnown) return false;
    double error = kOfMedian * kSigma * deviation / jobs / std::sqrt(jobs);
    if (factor.besideHalf > 0) error *= std::sqrt(2.0);  // the others vary, too
    return std::abs(factor.times - 1) < kErrors * error;
  };
  std::vector<std::int32_t> ofRanks;
  for (const auto& [number, each] : stages_) {
    if (each.ranks == of(stage).ranks) ofRanks.push_back(number);
  }
  return mayBe({stage}) && mayBe(ofRanks);
}

bool SlowerStages::isSlowByMoving(std::int32_t stage) const {
  const Stage& slow = of(stage);
  std::vector<double> moving;
  for (const auto& [number, each] : stages_) {
    if (number != stage && each.usual > 0) moving.push_back(each.moving / each.usual);
  }
  if (moving.empty() || slow.usual <= 0) return false;
  const double more = slow.moving / slow.usual - medianOf(moving);
  return more > 0 && more > slow.own / slow.usual - 1;
}

std::vector<std::int32_t> SlowerStages::all() const {
  std::vector<std::int32_t> numbers;
  for (const auto& [number, stage] : stages_) numbers.push_back(number);
  return numbers;
}

std::int32_t SlowerStages::slowestOf(const std::vector<std::int32_t>& stages) const {
  const auto times = [&](std::int32_t stage) { return ratio(of(stage).own, of(stage).usual); };
  return *std::ranges::max_element(stages, {}, times);
}

SlowerStages::Factor SlowerStages::besideOthers(const std::vector<std::int32_t>& stages) const {
  Stage own;
  Stage others;
  for (const auto& [number, stage] : stages_) {
    const bool isOwn = std::find(stages.begin(), stages.end(), number) != stages.end();
    Stage& sum = isOwn ? own : others;
    sum.own += stage.own;
    sum.usual += stage.usual;
    sum.kernels += stage.kernels;
    sum.usualKernels += stage.usualKernels;
  }
  Factor factor{.times = own.usual > 0 ? own.own / own.usual : 2, .isKnown = own.usual > 0};
  if (own.usualKernels > 0) factor.kernels = own.kernels / own.usualKernels;
  if (2 * stages.size() != count()) return factor;
  // The median of two halves lies between them, and says less than the other one.
  if (others.own <= 0 || others.usual <= 0) return factor;
  factor.times *= others.usual / others.own;
  if (others.kernels > 0) factor.kernels *= others.usualKernels / others.kernels;
  factor.besideHalf = count() / 2;
  return factor;
}

std::vector<std::int32_t> SlowerStages::halfWith(const std::vector<std::int32_t>& stages) const {
  std::vector<std::int32_t> half;
  for (const auto& [number, stage] : stages_) {
    if (stages.empty() || stage.ranks == of(stages.front()).ranks) half.push_back(number);
  }
  const bool hasAll = std::includes(half.begin(), half.end(), stages.begin(), stages.end());
  return hasAll && 2 * half.size() == count() ? half : stages;
}

std::vector<std::int32_t> SlowerStages::slowOnes(const std::vector<std::int32_t>& stages) const {
  const auto longer = [&](std::int32_t stage) { return of(stage).own - of(stage).usual; };
  double most = 0;
  for (const std::int32_t stage : stages) most = std::max(most, longer(stage));
  std::vector<std::int32_t> slow;
  for (const std::int32_t stage : stages) {
    if (longer(stage) >= kPartOfMost * most) slow.push_back(stage);
  }
  return most > 0 ? slow : stages;
}

std::int32_t SlowerStages::toBlame(Id id) const {
  const JobGraph::Node& job = graph_.node(id);
  if (job.kind != JobKind::kForwardBackward) return job.stage;
  const auto pair = fusedPairOf(timeline_, *job.event);
  if (!pair || !unfused_.contains(pair->forwardStage) || !unfused_.contains(pair->backwardStage)) {
    return job.stage;
  }
  const auto factor = [&](int stage) { return ratio(of(stage).own, of(stage).usual); };
  return factor(pair->backwardStage) > factor(pair->forwardStage) ? pair->backwardStage
                                                                  : pair->forwardStage;
}

namespace {

/// The jobs of a stage on one rank in one step.
struct Cell {
  double sum = 0;
  double kernels = 0;
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
    ofStage[at].sum += static_cast<double>(graph.ownTimeOf(id));
    ofStage[at].kernels += static_cast<double>(graph.kernelTimeOf(id));
    ++ofStage[at].count;
  }
  return cells;
}

/// A figure of a rank, where it is known, with the indices of its steps.
struct Series {
  std::vector<double> values;
  std::vector<double> kernels;  // the same of the time in which kernels compute
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

  /// The standard error of a median of values that are spread as a normal distribution is, by their
  /// median deviation from it. Two values say too little.
  static double errorOfMedian(std::vector<double> values, double median) {
    constexpr double kSigma = 1.4826;     // over the median deviation
    constexpr double kOfMedian = 1.2533;  // over that of the mean: the root of pi / 2
    if (values.size() < 3) return 0;
    for (double& value : values) value = std::abs(value - median);
    const auto count = static_cast<double>(values.size());
    return kOfMedian * kSigma * lowerMedianOf(values) / std::sqrt(count);
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
        rank.standardError = errorOfMedian(values, rank.factor);
        values = beside.kernels;
        if (!values.empty()) rank.kernels = lowerMedianOf(values);
      }
      rank.change = changeIn(beside, true);
      if (rank.change || rank.isSlower()) return rank;
    }
    rank.change = changeIn(own(r), false);
    return rank;
  }

 private:
  /// Its jobs beside those of the other ranks of these stages, in each step.
  Series besidePeers(std::size_t r, const std::vector<std::int32_t>& stages) const {
    Series series;
    std::vector<double> peers;
    std::vector<double> kernelsOfPeers;
    for (std::size_t step = 0; step < steps_.size(); ++step) {
      double own = 0;
      double others = 0;
      double kernels = 0;
      double otherKernels = 0;
      for (const std::int32_t stage : stages) {
        peers.clear();
        kernelsOfPeers.clear();
        for (const std::size_t peer : ranksOfStage_.at(stage)) {
          const Cell& cell = ranks_[peer].at(stage)[step];
          if (peer == r || cell.count == 0) continue;
          peers.push_back(cell.mean());
          kernelsOfPeers.push_back(cell.kernels / cell.count);
        }
        const Cell& cell = ranks_[r].at(stage)[step];
        if (peers.empty() || cell.count == 0) continue;
        own += cell.mean();
        others += lowerMedianOf(peers);
        kernels += cell.kernels / cell.count;
        otherKernels += lowerMedianOf(kernelsOfPeers);
      }
      if (own <= 0 || others <= 0) continue;
      series.values.push_back(own / others);
      if (otherKernels > 0) series.kernels.push_back(kernels / otherKernels);
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

namespace {

/// How much the own time of each rank varies beside that of its peers: one figure for each stage,
/// step and micro-batch, over the median of the others there.
void addStandardErrors(const JobGraph& graph, const CountedSteps& counted,
                       std::vector<SlowerRanks::Rank>& ranks) {
  using Key = std::tuple<std::int32_t, std::int32_t, std::int32_t>;  // stage, step, micro-batch
  std::map<Key, std::map<std::uint32_t, double>> times;
  for (Id id = 0; id < graph.jobCount(); ++id) {
    const JobGraph::Node& job = graph.node(id);
    if (!isCompute(job.kind) || job.step < 0 || !counted.contains(job.step)) continue;
    times[{job.stage, job.step, job.microBatch}][job.rank] +=
        static_cast<double>(graph.ownTimeOf(id));
  }
  struct Sums {
    double sum = 0;
    double squares = 0;
    double count = 0;
  };
  std::vector<Sums> sums(ranks.size());
  std::vector<double> others;
  for (const auto& [key, ofRanks] : times) {
    for (const auto& [rank, time] : ofRanks) {
      others.clear();
      for (const auto& [other, otherTime] : ofRanks) {
        if (other != rank) others.push_back(otherTime);
      }
      const double usual = medianOf(others);
      if (usual <= 0) continue;
      sums[rank].sum += time / usual;
      sums[rank].squares += time / usual * (time / usual);
      ++sums[rank].count;
    }
  }
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    const Sums& of = sums[r];
    if (of.count < 2) continue;
    const double mean = of.sum / of.count;
    const double variance = std::max(0.0, of.squares - of.count * mean * mean) / (of.count - 1);
    ranks[r].standardError = std::sqrt(variance / of.count);
  }
}

}  // namespace

namespace {

/// The usual length of a rank's jobs in one step, over that in all steps, and its standard error.
struct StepFigure {
  double value = 0;  // 0: it has no jobs
  double error = 0;
  double jobs = 0;
};

/// Of each step of a rank: the median over its jobs of their length over the median of their stage
/// and kind on the rank. So a pause in one job is no longer step.
std::vector<StepFigure> stepFiguresOf(const JobGraph& graph, const JobGraph::Rank& rank,
                                      const std::vector<std::int32_t>& steps) {
  using Alike = std::tuple<std::int32_t, JobKind, std::int16_t>;  // stage, kind, part
  struct Job {
    std::size_t step;
    double time;
  };
  std::map<Alike, std::vector<Job>> jobs;
  for (Id id = rank.first; id < rank.end; ++id) {
    const JobGraph::Node& job = graph.node(id);
    const auto step = std::lower_bound(steps.begin(), steps.end(), job.step);
    if (!isCompute(job.kind) || step == steps.end() || *step != job.step) continue;
    jobs[{job.stage, job.kind, job.event->part}].push_back(
        {static_cast<std::size_t>(step - steps.begin()), static_cast<double>(graph.ownTimeOf(id))});
  }
  std::vector<std::vector<double>> ratios(steps.size());
  for (const auto& [alike, list] : jobs) {
    std::vector<double> times;
    for (const Job& job : list) times.push_back(job.time);
    const double usual = lowerMedianOf(times);
    if (usual <= 0) continue;
    for (const Job& job : list) ratios[job.step].push_back(job.time / usual);
  }
  std::vector<StepFigure> figures(steps.size());
  for (std::size_t step = 0; step < steps.size(); ++step) {
    if (ratios[step].empty()) continue;
    figures[step].jobs = static_cast<double>(ratios[step].size());
    figures[step].value = lowerMedianOf(ratios[step]);
    figures[step].error = RankSeries::errorOfMedian(ratios[step], figures[step].value);
  }
  return figures;
}

/// The standard error of the sum of a rank's jobs beside that of a peer, as a part of it, where
/// jobs of a stage and kind are spread as a normal distribution is, by their median deviation.
double errorOfJobs(const JobGraph& graph, const JobGraph::Rank& rank,
                   const std::vector<std::int32_t>& steps) {
  constexpr double kSigma = 1.4826;  // over the median deviation
  std::map<std::tuple<std::int32_t, JobKind, std::int16_t>, std::vector<double>> alike;
  for (Id id = rank.first; id < rank.end; ++id) {
    const JobGraph::Node& job = graph.node(id);
    if (!isCompute(job.kind) || !std::ranges::binary_search(steps, job.step)) continue;
    alike[{job.stage, job.kind, job.event->part}].push_back(
        static_cast<double>(graph.ownTimeOf(id)));
  }
  double sum = 0;
  double variance = 0;
  for (auto& [kind, times] : alike) {
    const auto count = static_cast<double>(times.size());
    const double usual = lowerMedianOf(times);
    for (double& time : times) time = std::abs(time - usual);
    const double sigma = kSigma * lowerMedianOf(times);
    sum += count * usual;
    variance += count * sigma * sigma;
  }
  return sum > 0 ? std::sqrt(2 * variance) / sum : 0;  // those of the peer vary, too
}

/// The mean of some of the figures, its standard error, and the least and the largest of them.
struct StepMean {
  double value = 0;
  double error = 0;
  double least = std::numeric_limits<double>::max();
  double most = 0;

  /// Of the steps for which `counts` is `isInside`.
  StepMean(const std::vector<StepFigure>& figures, const std::vector<char>& counts, bool isInside) {
    double count = 0;
    double errors = 0;
    double squares = 0;
    for (std::size_t i = 0; i < figures.size(); ++i) {
      if ((counts[i] != 0) != isInside) continue;
      const StepFigure& figure = figures[i];
      value += figure.value;
      squares += figure.value * figure.value;
      errors += figure.error * figure.error;
      least = std::min(least, figure.value);
      most = std::max(most, figure.value);
      ++count;
    }
    value /= count;
    const double spread = count > 1 ? (squares - count * value * value) / (count - 1) : 0;
    error = std::sqrt(std::max({0.0, errors / count, spread}) / count);
  }
};

/// Changes in runs of so few steps that their jobs must tell whether one is a change; see
/// SlowerRanks::Change.
class ChangesInFewSteps {
 public:
  static constexpr std::size_t kMostSteps = 16;

  ChangesInFewSteps(const JobGraph& graph, const std::vector<std::int32_t>& steps, int threads)
      : steps_(steps), figures_(graph.ranks().size()) {
    if (steps.size() < 3 || steps.size() > kMostSteps || figures_.size() < 2) return;
    inParallel(threads, figures_.size(),
               [&](std::size_t r) { figures_[r] = stepFiguresOf(graph, graph.ranks()[r], steps); });
    for (std::size_t step = 0; step < steps.size(); ++step) {
      std::vector<double> all;
      for (const auto& of : figures_) {
        if (of[step].value > 0) all.push_back(of[step].value);
      }
      const double usual = all.empty() ? 1 : lowerMedianOf(all);
      for (auto& of : figures_) {
        of[step].value /= usual;
        of[step].error /= usual;
      }
    }
    poolErrors();
  }

  std::optional<SlowerRanks::Change> of(std::size_t r) const {
    const std::vector<StepFigure>& figures = figures_[r];
    const bool isWhole = !figures.empty() && std::ranges::all_of(figures, [](const auto& each) {
      return each.value > 0;
    });
    if (!isWhole) return std::nullopt;
    Best best;
    for (std::size_t begin = 0; begin < figures.size(); ++begin) {
      std::vector<char> isIn(figures.size(), 0);
      for (std::size_t end = begin + 1; end <= figures.size(); ++end) {
        isIn[end - 1] = 1;
        if (end - begin < figures.size()) tryThese(figures, isIn, best);
      }
    }
    if (best.change) return best.change;
    std::vector<std::size_t> longest(figures.size());
    std::iota(longest.begin(), longest.end(), 0);
    std::ranges::stable_sort(longest, std::greater<>(),
                             [&](std::size_t step) { return figures[step].value; });
    std::vector<char> isIn(figures.size(), 0);
    for (std::size_t count = 0; count < figures.size() / 2; ++count) {
      isIn[longest[count]] = 1;
      tryThese(figures, isIn, best);
    }
    return best.change;
  }

 private:
  /// A few jobs may be alike by chance: no step varies less than steps of the run do in the median.
  void poolErrors() {
    std::vector<double> variations;
    for (const auto& of : figures_) {
      for (const StepFigure& each : of) variations.push_back(each.error * std::sqrt(each.jobs));
    }
    const double usual = variations.empty() ? 0 : medianOf(variations);
    for (auto& of : figures_) {
      for (StepFigure& each : of) {
        if (each.jobs > 0) each.error = std::max(each.error, usual / std::sqrt(each.jobs));
      }
    }
  }

  struct Best {
    double errors = SlowerRanks::kClearErrors;
    std::optional<SlowerRanks::Change> change;
  };

  /// Whether a rank is slow in the steps of `isIn`, more clearly than in the best ones before.
  void tryThese(const std::vector<StepFigure>& figures, const std::vector<char>& isIn,
                Best& best) const {
    const StepMean inside(figures, isIn, true);
    const StepMean outside(figures, isIn, false);
    const double more = inside.value - outside.value;
    const double errors = more / std::max(std::hypot(inside.error, outside.error), 1e-9);
    const double factor = inside.value / outside.value;
    if (inside.least <= outside.most || factor < SlowerRanks::kClearFactor) return;
    if (errors < best.errors) return;
    SlowerRanks::Change change{.factor = factor, .isBesidePeers = false};
    for (std::size_t i = 0; i < isIn.size(); ++i) {
      if (isIn[i] != 0) change.apart.push_back(steps_[i]);
    }
    change.first = change.apart.front();
    change.last = change.apart.back();
    change.isFirstOfRun = isIn.front() != 0;
    change.isLastOfRun = isIn.back() != 0;
    const auto first = std::ranges::find(isIn, 1);
    const bool areApart =
        std::find(first, isIn.end(), 0) - first < static_cast<std::ptrdiff_t>(change.apart.size());
    if (!areApart) change.apart.clear();
    if (areApart && 2 * (inside.least - outside.most) < more) return;
    best = {errors, std::move(change)};
  }

  const std::vector<std::int32_t>& steps_;
  std::vector<std::vector<StepFigure>> figures_;
};

}  // namespace

SlowerRanks::SlowerRanks(const JobGraph& graph, const CountedSteps& counted, int threads) {
  const std::vector<std::int32_t> steps = stepsOf(graph, counted);
  std::vector<Cells> cells(graph.ranks().size());
  inParallel(threads, cells.size(),
             [&](std::size_t r) { cells[r] = cellsOf(graph, graph.ranks()[r], steps); });
  const RankSeries series(steps, cells);
  std::vector<Rank> ranks(cells.size());
  // Few steps may be alike by chance.
  constexpr std::size_t kFewSteps = 10;
  inParallel(threads, ranks.size(), [&](std::size_t r) {
    ranks[r] = series.of(r);
    if (steps.size() >= kFewSteps || !ranks[r].isSlower()) return;
    const double error = errorOfJobs(graph, graph.ranks()[r], steps);
    ranks[r].standardError = std::max(ranks[r].standardError, error);
  });
  if (!graph.inside().empty()) addStandardErrors(graph, counted, ranks);
  const ChangesInFewSteps few(graph, steps, threads);
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    if (!ranks[r].change && !ranks[r].isSlower()) ranks[r].change = few.of(r);
    ranks_[graph.ranks()[r].number] = std::move(ranks[r]);
  }
}

LinkTimes::LinkTimes(const JobGraph& graph, const CountedSteps& counted) {
  struct Way {
    std::vector<Nanoseconds> times;
    std::int64_t unposted = 0;
  };
  std::map<Link, Way> directions;
  // By receiver, as an index: its senders and what came from them. Most ranks have few.
  std::vector<std::vector<std::pair<std::uint32_t, Way*>>> known(graph.ranks().size());
  for (std::size_t id = graph.jobCount(); id < graph.messageEnd(); ++id) {
    const JobGraph::Node& node = graph.node(static_cast<Id>(id));
    if (node.inputs[0] == JobGraph::kNone || !counted.contains(node.step)) continue;
    const std::uint32_t sender = graph.node(node.inputs[0]).rank;
    auto& senders = known[node.rank];
    auto list = std::find_if(senders.begin(), senders.end(),
                             [&](const auto& each) { return each.first == sender; });
    if (list == senders.end()) {
      const Link link(graph.ranks()[sender].number, graph.ranks()[node.rank].number);
      list = senders.insert(list, {sender, &directions[link]});
    }
    list->second->times.push_back(node.end - node.begin);
    if (graph.message(static_cast<Id>(id)).send == nullptr) ++list->second->unposted;
  }
  std::map<Link, std::vector<Nanoseconds>> both;
  std::map<Link, Nanoseconds> mediansOfWays;
  for (auto& [direction, way] : directions) {
    auto& [times, unposted] = way;
    const auto [from, to] = direction;
    const Link link(std::min(from, to), std::max(from, to));
    constexpr std::int64_t kFew = 4;  // one in four may lack it, as in a step that was cut off
    if (kFew * unposted > std::ssize(times)) unposted_.insert(link);
    const Nanoseconds median = mediansOfWays[direction] = medianOf(times);
    if (median < 0) early_[link] = std::max(early_[link], -median);
    both[link].insert(both[link].end(), times.begin(), times.end());
  }
  for (const auto& [direction, median] : mediansOfWays) {
    const auto [from, to] = direction;
    const auto other = mediansOfWays.find({to, from});
    if (other == mediansOfWays.end() || other->second <= 0) continue;
    if (static_cast<double>(median) < kSlow * static_cast<double>(other->second)) continue;
    const Link link(std::min(from, to), std::max(from, to));
    slowWays_[link] = direction;
    both[link] = directions[direction].times;
  }
  for (auto& [link, times] : both) {
    medians_[link] = medianOf(times);
    const auto quarter = [&](std::size_t quarters) {
      const std::size_t place = quarters * (times.size() - 1) / 4;
      const auto at = times.begin() + static_cast<std::ptrdiff_t>(place);
      std::nth_element(times.begin(), at, times.end());
      return *at;
    };
    scatters_[link] = quarter(3) - quarter(1);
  }
}

Nanoseconds LinkTimes::scatterOf(Link link) const {
  const auto found = scatters_.find(link);
  return found == scatters_.end() ? 0 : found->second;
}

std::optional<LinkTimes::Link> LinkTimes::slowWayOf(Link link) const {
  const auto found = slowWays_.find(link);
  return found == slowWays_.end() ? std::nullopt : std::optional(found->second);
}

bool LinkTimes::isSlow(Link link) const {
  const Nanoseconds others = ofOthers(link).value_or(0);
  if (others <= 0) return true;
  const double times = ratio(of(link), others);
  return times >= kClearlySlow || (times >= kSlow && of(link) - others > scatterOf(link));
}

Nanoseconds LinkTimes::of(Link link) const {
  const auto found = medians_.find(link);
  return found == medians_.end() ? 0 : found->second;
}

std::optional<Nanoseconds> LinkTimes::ofOthers(Link link) const {
  std::vector<Nanoseconds> others;
  for (const auto& [each, median] : medians_) {
    if (each != link && !isEarly(each)) others.push_back(median);
  }
  if (others.empty()) return std::nullopt;
  std::sort(others.begin(), others.end());
  return others[(others.size() - 1) / 2];
}

}  // namespace pipetrace
