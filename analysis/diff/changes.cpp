#include "analysis/diff/changes.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "analysis/ratio.h"

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

}  // namespace

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

}  // namespace pipetrace
