#include "analysis/diff/run_diff.h"

#include <algorithm>
#include <compare>
#include <map>
#include <numeric>
#include <utility>

#include "analysis/diff/changes.h"
#include "analysis/diff/exact_means.h"
#include "analysis/ratio.h"
#include "analysis/steps/selection.h"
#include "trace/error.h"
#include "trace/threads/in_parallel.h"

namespace pipetrace {
namespace {

/// The intervals of that many parts are found, those with the largest differences: bootstraps of
/// all parts of thousands of ranks would take longer than all else.
constexpr std::size_t kMostIntervals = 200;

/// Parts with equal keys are one. They are in the order of their keys.
struct PartKey {
  bool isIdle = false;
  int what = 0;  // the kind, or the place of the class in reports
  int stage = -1;
  int position = -1;
  int rank = -1;
  int peer = -1;
  auto operator<=>(const PartKey&) const = default;
};

using PartTimes = std::map<PartKey, std::vector<Nanoseconds>>;  // by step

void addTimes(const std::vector<Nanoseconds>& from, std::vector<Nanoseconds>& to) {
  to.resize(from.size());
  for (std::size_t i = 0; i < from.size(); ++i) to[i] += from[i];
}

int placeInReports(BubbleClass bubbleClass) {
  const auto found = std::find(kReportedClasses.begin(), kReportedClasses.end(), bubbleClass);
  return static_cast<int>(found - kReportedClasses.begin());
}

int positionOf(const MeasuredRun& run, int rank) {
  const auto place = run.shape.places.find(rank);
  return place == run.shape.places.end() ? -1 : place->second.position;
}

PartTimes partsOf(const MeasuredRun& run, const Comparison& how) {
  const bool hasStages = how.places == Comparison::Places::kStages;
  const bool hasPositions = how.places == Comparison::Places::kPositions;
  PartTimes parts;
  for (const auto& [key, times] : run.busy) {
    addTimes(times, parts[{.isIdle = false,
                           .what = static_cast<int>(how.as(key.kind)),
                           .stage = hasStages ? key.stage : -1,
                           .position = hasPositions ? positionOf(run, key.rank) : -1}]);
  }
  for (const auto& [key, times] : run.idle) {
    PartKey part{.isIdle = true, .what = placeInReports(key.bubbleClass)};
    if (rowOf(key.bubbleClass).blame == BubbleBlame::kStage) {
      part.stage = hasStages ? key.other : -1;
      part.position = hasPositions ? positionOf(run, key.rank) : -1;
    } else if (how.hasSameRanks) {
      part.rank = key.rank;
      part.peer = key.other;
    }
    addTimes(times, parts[part]);
  }
  return parts;
}

/// The times of a step are divided by it.
std::int64_t weightOf(const MeasuredRun::Step& step, const Comparison& how) {
  return how.isPerMicroBatch ? step.microBatches : step.ranks;
}

/// Means over the steps of one run.
class Means {
 public:
  Means(const MeasuredRun& run, const Comparison& how) : steps_(run.steps.size()) {
    for (const MeasuredRun::Step& step : run.steps) {
      const std::int64_t weight = weightOf(step, how);
      weight_ += weight;
      weights_.push_back(static_cast<double>(weight));
    }
  }
  std::int64_t weight() const { return weight_; }
  SeriesOfSteps series(const std::vector<Nanoseconds>& times) const {
    SeriesOfSteps series{std::vector<double>(steps_), weights_};
    for (std::size_t i = 0; i < times.size(); ++i) series.sums[i] = static_cast<double>(times[i]);
    return series;
  }

 private:
  std::size_t steps_;
  std::int64_t weight_ = 0;
  std::vector<double> weights_;
};

std::vector<Nanoseconds> windowTimesOf(const MeasuredRun& run) {
  std::vector<Nanoseconds> windows;
  for (const MeasuredRun::Step& step : run.steps) windows.push_back(step.window);
  return windows;
}

Nanoseconds timeOfAll(const std::vector<Nanoseconds>& times) {
  return std::accumulate(times.begin(), times.end(), Nanoseconds{});
}

DiffPart partOf(const PartKey& key) {
  DiffPart part;
  part.isBusy = !key.isIdle;
  if (part.isBusy) {
    part.kind = static_cast<JobKind>(key.what);
  } else {
    part.bubbleClass = kReportedClasses[static_cast<std::size_t>(key.what)];
  }
  part.stage = key.stage;
  part.position = key.position;
  part.rank = key.rank;
  part.peer = key.peer;
  return part;
}

bool hasPairs(const MeasuredRun& a, const MeasuredRun& b) {
  const auto lengthsOf = [](const MeasuredRun& run) {
    std::vector<double> lengths;
    for (const MeasuredRun::Step& step : run.steps) {
      lengths.push_back(ratio(static_cast<double>(step.window), static_cast<double>(step.ranks)));
    }
    return lengths;
  };
  return goInPairs(lengthsOf(a), lengthsOf(b));
}

/// The time between the steps of a run, and what they take with it.
struct PausesOfSteps {
  Nanoseconds between = 0;  // means
  Nanoseconds loads = 0;
  SeriesOfSteps ofBetween;
  SeriesOfSteps ofLoads;
  SeriesOfSteps ofWall;
};

/// Means over steps with these weights. Nothing where no step is followed by another.
std::optional<PausesOfSteps> pausesOfSteps(const MeasuredRun& run,
                                           const std::vector<std::int64_t>& weights) {
  Nanoseconds between = 0;
  Nanoseconds loads = 0;
  std::int64_t weight = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (!run.steps[i].between) continue;
    between += *run.steps[i].between;
    loads += run.steps[i].loads;
    weight += weights[i];
  }
  if (weight == 0) return std::nullopt;
  PausesOfSteps pauses{roundedMean(between, weight), roundedMean(loads, weight)};
  const auto add = [](SeriesOfSteps& series, double sum, double ofStep) {
    series.sums.push_back(sum);
    series.weights.push_back(ofStep);
  };
  const double mean = static_cast<double>(between) / static_cast<double>(weight);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const MeasuredRun::Step& step = run.steps[i];
    const auto ofStep = static_cast<double>(weights[i]);
    const double known = step.between ? ofStep : 0;
    add(pauses.ofBetween, static_cast<double>(step.between.value_or(0)), known);
    add(pauses.ofLoads, static_cast<double>(step.loads), known);
    // The time after the last step is not known: that of the others stands for it.
    const double time = step.between ? static_cast<double>(*step.between) : mean * ofStep;
    add(pauses.ofWall, static_cast<double>(step.window) + time, ofStep);
  }
  return pauses;
}

/// The step's mean over ranks and steps, with the time to the next one where both runs show it.
DiffFigure wholeStepOf(const RunDiff& diff, const BlockBootstrap& bootstrap) {
  const auto ranksOf = [](const MeasuredRun& run) {
    std::vector<std::int64_t> ranks;
    for (const MeasuredRun::Step& step : run.steps) ranks.push_back(step.ranks);
    return ranks;
  };
  const Nanoseconds a = meanStepOf(diff.a);
  const Nanoseconds b = meanStepOf(diff.b);
  const auto pausesOfA = pausesOfSteps(diff.a, ranksOf(diff.a));
  const auto pausesOfB = pausesOfSteps(diff.b, ranksOf(diff.b));
  if (pausesOfA && pausesOfB) {
    return {a + pausesOfA->between, b + pausesOfB->between,
            bootstrap.of(pausesOfA->ofWall, pausesOfB->ofWall)};
  }
  const auto seriesOf = [](const MeasuredRun& run) {
    SeriesOfSteps series;
    for (const MeasuredRun::Step& step : run.steps) {
      series.sums.push_back(static_cast<double>(step.window));
      series.weights.push_back(static_cast<double>(step.ranks));
    }
    return series;
  };
  return {a, b, bootstrap.of(seriesOf(diff.a), seriesOf(diff.b))};
}

void compareBetween(RunDiff& diff, const BlockBootstrap& bootstrap) {
  if (diff.a.isAsynchronous || diff.b.isAsynchronous) return;
  const auto weightsOf = [&](const MeasuredRun& run) {
    std::vector<std::int64_t> weights;
    for (const MeasuredRun::Step& step : run.steps) weights.push_back(weightOf(step, diff.how));
    return weights;
  };
  if (diff.how.isPerMicroBatch) diff.wholeStep = wholeStepOf(diff, bootstrap);
  const auto a = pausesOfSteps(diff.a, weightsOf(diff.a));
  const auto b = pausesOfSteps(diff.b, weightsOf(diff.b));
  if (!a || !b) return;
  diff.between = DiffFigure{a->between, b->between, bootstrap.of(a->ofBetween, b->ofBetween)};
  diff.loads = DiffFigure{a->loads, b->loads, bootstrap.of(a->ofLoads, b->ofLoads)};
  diff.wall = DiffFigure{diff.step.a + a->between, diff.step.b + b->between,
                         bootstrap.of(a->ofWall, b->ofWall)};
}

void findIntervals(RunDiff& diff, PartTimes& ofA, PartTimes& ofB, const Means& meansOfA,
                   const Means& meansOfB, const BlockBootstrap& bootstrap) {
  std::vector<std::pair<Nanoseconds, std::size_t>> largest;
  for (std::size_t i = 0; i < diff.parts.size(); ++i) {
    largest.emplace_back(-std::abs(diff.parts[i].difference()), i);
  }
  std::sort(largest.begin(), largest.end());
  largest.resize(std::min(largest.size(), kMostIntervals));
  std::sort(largest.begin(), largest.end(),
            [](const auto& x, const auto& y) { return x.second < y.second; });
  std::size_t place = 0;
  auto next = largest.begin();
  for (auto& [key, times] : ofA) {
    if (next == largest.end()) return;
    if (next->second == place) {
      diff.parts[place].sure = bootstrap.of(meansOfA.series(times), meansOfB.series(ofB[key]));
      ++next;
    }
    ++place;
  }
}

void compareSteps(RunDiff& diff, const BlockBootstrap& bootstrap) {
  const Means meansOfA(diff.a, diff.how);
  const Means meansOfB(diff.b, diff.how);
  PartTimes ofA = partsOf(diff.a, diff.how);
  PartTimes ofB = partsOf(diff.b, diff.how);
  for (const auto& [key, times] : ofB) ofA[key];
  for (const auto& [key, times] : ofA) ofB[key];
  std::vector<Nanoseconds> sumsOfA;
  std::vector<Nanoseconds> sumsOfB;
  for (const auto& [key, times] : ofA) {
    diff.parts.push_back(partOf(key));
    sumsOfA.push_back(timeOfAll(times));
    sumsOfB.push_back(timeOfAll(ofB[key]));
  }
  const std::vector<Nanoseconds> a = exactMeans(sumsOfA, meansOfA.weight());
  const std::vector<Nanoseconds> b = exactMeans(sumsOfB, meansOfB.weight());
  for (std::size_t i = 0; i < diff.parts.size(); ++i) {
    diff.parts[i].a = a[i];
    diff.parts[i].b = b[i];
  }
  const std::vector<Nanoseconds> windowsOfA = windowTimesOf(diff.a);
  const std::vector<Nanoseconds> windowsOfB = windowTimesOf(diff.b);
  diff.step = {roundedMean(timeOfAll(windowsOfA), meansOfA.weight()),
               roundedMean(timeOfAll(windowsOfB), meansOfB.weight()),
               bootstrap.of(meansOfA.series(windowsOfA), meansOfB.series(windowsOfB))};
  findIntervals(diff, ofA, ofB, meansOfA, meansOfB, bootstrap);
  compareBetween(diff, bootstrap);
}

/// The ranges that hold just these numbers.
std::vector<NumberRange> rangesOf(const std::vector<int>& numbers) {
  std::vector<NumberRange> ranges;
  for (const int number : numbers) ranges.push_back({number, number + 1});
  return ranges;
}

}  // namespace

double RunDiff::sureChange(const DiffFigure& figure) {
  if (!figure.sure || !figure.sure->isBeyondNoise() || figure.a <= 0) return 0;
  return static_cast<double>(figure.difference()) / static_cast<double>(figure.a);
}

const DiffFigure& RunDiff::judged() const {
  return wholeStep && how.hasSameTokens ? *wholeStep : unit();
}

bool RunDiff::isSlower() const { return how.refusal.empty() && sureChange(judged()) > tolerance; }

RunDiff diffOf(MeasuredRun a, MeasuredRun b, double tolerance) {
  RunDiff diff;
  diff.a = std::move(a);
  diff.b = std::move(b);
  diff.how = comparisonOf(diff.a, diff.b);
  diff.tolerance = tolerance;
  diff.isPaired = diff.how.refusal.empty() && hasPairs(diff.a, diff.b);
  const BlockBootstrap bootstrap(diff.a.steps.size(), diff.b.steps.size(), diff.isPaired);
  if (diff.how.refusal.empty()) compareSteps(diff, bootstrap);
  compareLengths(diff, bootstrap);
  return diff;
}

std::vector<int> leaveRanksOfBoth(Run& a, Run& b) {
  std::vector<int> onlyRanks =
      ranksOfBoth(shapeOf(a.timeline(), a.topology()), shapeOf(b.timeline(), b.topology()));
  if (onlyRanks.empty()) return onlyRanks;
  for (Run* const run : {&a, &b}) {
    const int threads = run->threads();
    *run = Run(withRanks(std::move(*run).takeTimeline(), rangesOf(onlyRanks)), threads);
  }
  return onlyRanks;
}

RunDiff diffOf(Run a, Run b, const DiffOptions& options) {
  const int threads = a.threads();
  const std::vector<int> onlyRanks = leaveRanksOfBoth(a, b);
  Run* const runs[] = {&a, &b};
  for (Run* const run : runs) run->useThreads((threads + 1) / 2);
  MeasuredRun measured[2];
  inParallel(std::min(2, threads), 2, [&](std::size_t i) {
    try {
      measured[i] = measureRun(*runs[i], options.steps);
      runs[i]->letGo();
    } catch (const Error& error) {
      throw Error(std::string(i == 0 ? "A: " : "B: ") + error.what());
    }
  });
  measured[0].hasSameBatch = options.sameBatch;
  RunDiff diff = diffOf(std::move(measured[0]), std::move(measured[1]), options.tolerance);
  diff.onlyRanks = onlyRanks;
  return diff;
}

}  // namespace pipetrace
