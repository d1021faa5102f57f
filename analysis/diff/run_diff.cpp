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

/// The mean of what is known of each step, which is not divided by micro-batches.
std::optional<DiffFigure> figureOf(const std::vector<std::optional<Nanoseconds>>& a,
                                   const std::vector<std::optional<Nanoseconds>>& b,
                                   const BlockBootstrap& bootstrap) {
  const auto seriesOf = [](const std::vector<std::optional<Nanoseconds>>& times) {
    SeriesOfSteps series;
    for (const std::optional<Nanoseconds>& time : times) {
      series.sums.push_back(static_cast<double>(time.value_or(0)));
      series.weights.push_back(time ? 1 : 0);
    }
    return series;
  };
  const auto meanOf = [](const std::vector<std::optional<Nanoseconds>>& times) {
    Nanoseconds sum = 0;
    std::int64_t count = 0;
    for (const std::optional<Nanoseconds>& time : times) {
      sum += time.value_or(0);
      count += time ? 1 : 0;
    }
    return count > 0 ? std::optional(roundedMean(sum, count)) : std::nullopt;
  };
  const auto meanOfA = meanOf(a);
  const auto meanOfB = meanOf(b);
  if (!meanOfA || !meanOfB) return std::nullopt;
  return DiffFigure{*meanOfA, *meanOfB, bootstrap.of(seriesOf(a), seriesOf(b))};
}

/// The step's mean over ranks and steps.
std::optional<DiffFigure> wholeStepOf(const RunDiff& diff, const BlockBootstrap& bootstrap) {
  const auto seriesOf = [](const MeasuredRun& run) {
    SeriesOfSteps series;
    for (const MeasuredRun::Step& step : run.steps) {
      series.sums.push_back(static_cast<double>(step.window));
      series.weights.push_back(static_cast<double>(step.ranks));
    }
    return series;
  };
  return DiffFigure{meanStepOf(diff.a), meanStepOf(diff.b),
                    bootstrap.of(seriesOf(diff.a), seriesOf(diff.b))};
}

void compareBetween(RunDiff& diff, const BlockBootstrap& bootstrap) {
  const bool areSteps = !diff.a.isAsynchronous && !diff.b.isAsynchronous;
  if (diff.how.isPerMicroBatch) {
    if (areSteps) diff.wholeStep = wholeStepOf(diff, bootstrap);
    return;
  }
  const auto listOf = [](const MeasuredRun& run, bool withWindow) {
    std::vector<std::optional<Nanoseconds>> times;
    for (const MeasuredRun::Step& step : run.steps) {
      times.push_back(step.between);
      if (withWindow && times.back()) *times.back() += roundedMean(step.window, step.ranks);
    }
    return times;
  };
  diff.between = figureOf(listOf(diff.a, false), listOf(diff.b, false), bootstrap);
  diff.period = figureOf(listOf(diff.a, true), listOf(diff.b, true), bootstrap);
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
  return wholeStep && how.hasSameTokens ? *wholeStep : step;
}

bool RunDiff::isSlower() const {
  if (!how.refusal.empty()) return false;
  return sureChange(judged()) > tolerance || (period && sureChange(*period) > tolerance);
}

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
