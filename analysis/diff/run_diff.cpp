#include "analysis/diff/run_diff.h"

#include <algorithm>
#include <cmath>
#include <compare>
#include <map>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

#include "analysis/diff/measured_run.h"
#include "analysis/ratio.h"
#include "analysis/run/steps/selection.h"
#include "trace/error.h"
#include "trace/threads/in_parallel.h"

namespace pipetrace {
namespace {

constexpr double kAlone = 0.8;

/// Place and kind: stage, position, kind.
using Group = std::tuple<int, int, JobKind>;

struct JobsOfGroup {
  SeriesOfSteps all;
  std::map<int, std::pair<double, double>> byRank;  // sum, count
  std::map<std::int32_t, std::pair<double, double>> byMicroBatch;
};

using JobsByGroup = std::map<Group, JobsOfGroup>;

void addLengths(SeriesOfSteps& series, const MeasuredRun::Lengths& lengths) {
  series.sums.resize(lengths.sums.size());
  series.weights.resize(lengths.counts.size());
  for (std::size_t i = 0; i < lengths.sums.size(); ++i) {
    series.sums[i] += static_cast<double>(lengths.sums[i]);
    series.weights[i] += static_cast<double>(lengths.counts[i]);
  }
}

double totalOf(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum;
}

class JobGroups {
 public:
  JobGroups(const MeasuredRun& run, const Comparison& how) : run_(run), how_(how) {
    for (const auto& [key, lengths] : run.jobs) {
      JobsOfGroup& group = groups_[groupOf(key.rank, key.stage, key.kind)];
      addLengths(group.all, lengths);
      auto& [sum, count] = group.byRank[key.rank];
      for (const Nanoseconds each : lengths.sums) sum += static_cast<double>(each);
      for (const std::int64_t each : lengths.counts) count += static_cast<double>(each);
    }
    if (how.places == Comparison::Places::kStages) addMicroBatches();
    const bool haveOtherStages = how.places != Comparison::Places::kStages;
    if (areKindsJoined() || haveOtherStages) countMicroBatches();
  }

  const JobsByGroup& groups() const { return groups_; }

 private:
  Group groupOf(int rank, int stage, JobKind kind) const {
    const auto place = run_.shape.places.find(rank);
    const int position = place == run_.shape.places.end() ? -1 : place->second.position;
    return {how_.places == Comparison::Places::kStages ? stage : -1,
            how_.places == Comparison::Places::kPositions ? position : -1, how_.as(kind)};
  }

  bool areKindsJoined() const {
    return std::any_of(run_.kinds.begin(), run_.kinds.end(),
                       [&](JobKind kind) { return how_.as(kind) != kind; });
  }

  void addMicroBatches() {
    for (const auto& [key, numbers] : run_.byMicroBatch) {
      JobsOfGroup& group = groups_[{key.first, -1, how_.as(key.second)}];
      for (const auto& [number, times] : numbers) {
        auto& [sum, count] = group.byMicroBatch[number];
        sum += static_cast<double>(times.first);
        count += static_cast<double>(times.second);
      }
    }
  }

  /// Several jobs are compared as one, such as the halves of a backward or the chunks of a rank.
  /// Then the time of a micro-batch counts: that of all its jobs on a rank.
  void countMicroBatches() {
    std::vector<double> microBatches;
    for (const MeasuredRun::Step& step : run_.steps) {
      microBatches.push_back(ratio(static_cast<double>(step.microBatches),
                                   static_cast<double>(std::max<std::int64_t>(1, step.ranks))));
    }
    for (auto& [key, group] : groups_) {
      const auto ranks = static_cast<double>(group.byRank.size());
      for (std::size_t i = 0; i < group.all.weights.size(); ++i) {
        group.all.weights[i] = microBatches[i] * ranks;
      }
      const double count = totalOf(microBatches);
      for (auto& [rank, times] : group.byRank) times.second = count;
      group.byMicroBatch.clear();
    }
  }

  const MeasuredRun& run_;
  const Comparison& how_;
  JobsByGroup groups_;
};

/// The entry that has most of a change alone; -1: none has. `changeOf` of each: what it adds.
template <typename Key>
int alone(const std::map<Key, double>& changes) {
  if (changes.size() < 2) return -1;
  double all = 0;
  for (const auto& [key, change] : changes) all += change;
  int found = -1;
  for (const auto& [key, change] : changes) {
    // The others may add or take.
    double others = 0;
    for (const auto& [other, each] : changes) others += other == key ? 0 : std::abs(each);
    const bool isMost = change * all > 0 && std::abs(change) >= kAlone * std::abs(all) &&
                        others <= (1 - kAlone) / kAlone * std::abs(change);
    if (isMost) found = static_cast<int>(key);
  }
  return found;
}

/// The difference of the means of each key that both have.
template <typename Key>
std::map<Key, double> changesOf(const std::map<Key, std::pair<double, double>>& a,
                                const std::map<Key, std::pair<double, double>>& b) {
  std::map<Key, double> changes;
  for (const auto& [key, times] : a) {
    const auto other = b.find(key);
    if (other == b.end()) continue;
    changes[key] =
        ratio(other->second.first, other->second.second) - ratio(times.first, times.second);
  }
  return changes;
}

double factorOf(const std::pair<double, double>& a, const std::pair<double, double>& b) {
  return ratio(ratio(b.first, b.second), ratio(a.first, a.second));
}

/// Leaves the micro-batches that both have, if these are not all.
void match(JobsOfGroup& a, JobsOfGroup& b) {
  std::pair<double, double> ofA;
  std::pair<double, double> ofB;
  bool areAll = true;
  const auto add = [](const std::pair<double, double>& times, std::pair<double, double>& sums) {
    sums.first += times.first;
    sums.second += times.second;
  };
  for (const auto& [number, times] : a.byMicroBatch) {
    const auto other = b.byMicroBatch.find(number);
    areAll = areAll && other != b.byMicroBatch.end();
    if (other == b.byMicroBatch.end()) continue;
    add(times, ofA);
    add(other->second, ofB);
  }
  areAll = areAll && a.byMicroBatch.size() == b.byMicroBatch.size();
  if (areAll || ofA.second <= 0 || ofB.second <= 0) return;
  // The steps keep their noise; the mean is that of the jobs that both have.
  const auto scale = [](JobsOfGroup& group, const std::pair<double, double>& matched) {
    const double factor = ratio(ratio(matched.first, matched.second), group.all.mean());
    for (double& sum : group.all.sums) sum *= factor;
  };
  scale(a, ofA);
  scale(b, ofB);
}

bool isLargeEnough(double a, double b) {
  return std::abs(b - a) >= RunDiff::kLeastChange * std::max(a, 1.0);
}

void compareJobs(RunDiff& diff, const BlockBootstrap& bootstrap) {
  const JobGroups jobsOfA(diff.a, diff.how);
  const JobGroups jobsOfB(diff.b, diff.how);
  for (const auto& [key, jobs] : jobsOfA.groups()) {
    const auto found = jobsOfB.groups().find(key);
    if (found == jobsOfB.groups().end()) continue;
    JobsOfGroup a = jobs;
    JobsOfGroup b = found->second;
    if (!diff.how.isPerMicroBatch) match(a, b);
    JobChange& change = diff.jobs.emplace_back();
    std::tie(change.stage, change.position, change.kind) = key;
    change.a = a.all.mean();
    change.b = b.all.mean();
    for (const auto& [rank, times] : b.byRank) change.ranks.push_back(rank);
    if (!isLargeEnough(change.a, change.b)) continue;
    change.sure = bootstrap.of(a.all, b.all);
    if (diff.how.hasSameRanks) change.rank = alone(changesOf(a.byRank, b.byRank));
    if (change.rank >= 0) {
      change.factorAlone = factorOf(a.byRank.at(change.rank), b.byRank.at(change.rank));
      continue;
    }
    if (a.byMicroBatch.size() <= 3) continue;
    change.microBatch = alone(changesOf(a.byMicroBatch, b.byMicroBatch));
    if (change.microBatch < 0) continue;
    change.factorAlone =
        factorOf(a.byMicroBatch.at(change.microBatch), b.byMicroBatch.at(change.microBatch));
  }
}

void compareLinks(RunDiff& diff, const BlockBootstrap& bootstrap) {
  if (!diff.how.hasSameRanks) return;
  for (const auto& [link, lengths] : diff.a.messages) {
    const auto found = diff.b.messages.find(link);
    if (found == diff.b.messages.end()) continue;
    SeriesOfSteps a;
    SeriesOfSteps b;
    addLengths(a, lengths);
    addLengths(b, found->second);
    LinkChange& change = diff.links.emplace_back();
    change.link = link;
    change.a = a.mean();
    change.b = b.mean();
    if (isLargeEnough(change.a, change.b)) change.sure = bootstrap.of(a, b);
  }
}

/// Fills in RunDiff::jobs and RunDiff::links. Jobs are matched by place, kind and micro-batch: only
/// micro-batches that both runs have count, unless times are compared per micro-batch. Links are
/// compared where the ranks are the same and both logs have messages.
///
/// A change is clear if it is beyond the simultaneous 95 % interval of all that are compared, and
/// at least RunDiff::kLeastChange of A's length. One rank of several has a change alone if it has
/// four fifths of what is longer or shorter, and so has one micro-batch.
void compareLengths(RunDiff& diff, const BlockBootstrap& bootstrap) {
  compareJobs(diff, bootstrap);
  compareLinks(diff, bootstrap);
  const std::size_t compared = diff.jobs.size() + diff.links.size();
  const auto judge = [&](auto& change) {
    change.isClear = isLargeEnough(change.a, change.b) &&
                     (!change.sure || change.sure->isBeyondNoiseOf(change.b - change.a, compared));
  };
  for (JobChange& change : diff.jobs) judge(change);
  for (LinkChange& change : diff.links) judge(change);
}

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
