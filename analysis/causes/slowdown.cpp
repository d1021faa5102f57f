#include "analysis/causes/slowdown.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <numeric>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "analysis/causes/slowdown_what_ifs.h"
#include "analysis/run/graph/job_graph.h"
#include "analysis/run/steps/incomplete_steps.h"
#include "analysis/run/waits/run_work.h"
#include "trace/log/fused_pair.h"
#include "trace/text/number_text.h"
#include "trace/threads/in_parallel.h"
#include "trace/timeline.h"
#include "trace/topology.h"

namespace pipetrace {

namespace {

/// The what-ifs of many sets over the steps of a run: in each, the operations of one set are as
/// long as measured, and all others as long as ideal.
///
/// If one pass runs all of them, they are simulated. Else a set whose operations deviate little has
/// a bound in place of a simulation. No path of a step gets longer or shorter by more than the sum
/// of |measured − ideal| over the operations of the set. So where that sum is below kLow of the
/// ideal length, over all steps, it says enough.
class SetWhatIfs {
 public:
  static constexpr double kLow = 0.001;

  /// `sets` and `setOf` as of SetTimes. `steps`: how many there are, at least one.
  SetWhatIfs(std::size_t sets, SetTimes::SetOf setOf, std::size_t steps);

  std::size_t count() const { return whatIfOf_.size(); }
  bool areFew() const { return count() <= SetTimes::kAtOnce; }

  /// Finds the sets that need no simulation, where they are many. `ideal`: how long a step with
  /// ideal durations is about, ns. Comes before run(). Uses that many threads, which makes no
  /// difference to the result.
  void findBounds(const JobGraph& graph, const RunWork& runWork, double ideal, int threads);
  /// Runs a step (by its index). Several threads may run different steps at once.
  void run(std::size_t step, const RunNetwork& network);
  /// After all steps. `ideal`: the mean length of a step with ideal durations, ns.
  void finish(double ideal);

  /// Whether the length of a set is a bound: it is at most that.
  bool isBound(std::size_t set) const { return whatIfOf_[set] == kNoWhatIf; }
  /// The mean length of a step in the what-if of a set, ns. Not before finish().
  double length(std::size_t set) const {
    return isBound(set) ? ideal_ + deviations_[set] : lengths_[whatIfOf_[set]];
  }

 private:
  static constexpr std::size_t kNoWhatIf = ~std::size_t{0};

  void addDeviations(const JobGraph& graph, const RunWork& runWork, std::uint32_t rank,
                     std::vector<double>& deviations) const;

  SetTimes::SetOf setOf_;
  std::vector<double> deviations_;     // by set, mean of a step, ns; none where they are few
  std::vector<std::size_t> whatIfOf_;  // by set; kNoWhatIf: a bound
  std::size_t whatIfs_ = 0;
  std::vector<double> lengths_;              // by what-if, mean of a step, ns
  std::vector<std::vector<double>> byStep_;  // those of the steps
  double ideal_ = 0;
};

SetWhatIfs::SetWhatIfs(std::size_t sets, SetTimes::SetOf setOf, std::size_t steps)
    : setOf_(std::move(setOf)), whatIfOf_(sets), whatIfs_(sets), byStep_(steps) {
  std::iota(whatIfOf_.begin(), whatIfOf_.end(), std::size_t{0});
}

void SetWhatIfs::findBounds(const JobGraph& graph, const RunWork& runWork, double ideal,
                            int threads) {
  if (areFew()) return;
  // The same parts for any number of threads, so that sums are the same, too.
  constexpr std::size_t kParts = 16;
  std::vector<std::vector<double>> byPart(kParts);
  const std::size_t ranks = graph.ranks().size();
  inParallel(threads, kParts, [&](std::size_t part) {
    byPart[part].assign(count(), 0);
    for (std::size_t r = part * ranks / kParts; r < (part + 1) * ranks / kParts; ++r) {
      addDeviations(graph, runWork, static_cast<std::uint32_t>(r), byPart[part]);
    }
  });
  deviations_.assign(count(), 0);
  whatIfs_ = 0;
  for (std::size_t set = 0; set < count(); ++set) {
    for (const std::vector<double>& part : byPart) deviations_[set] += part[set];
    deviations_[set] /= static_cast<double>(byStep_.size());
    whatIfOf_[set] = deviations_[set] < kLow * ideal ? kNoWhatIf : whatIfs_++;
  }
}

/// Adds those of a rank's operations and of the messages that its jobs wait for.
void SetWhatIfs::addDeviations(const JobGraph& graph, const RunWork& runWork, std::uint32_t rank,
                               std::vector<double>& deviations) const {
  const auto add = [&](RunWork::Id id) {
    const RunNetwork::Operation work = RunNetwork::operationOf(runWork, id);
    const std::size_t set = setOf_(work);
    if (set < count()) deviations[set] += std::abs(work.measured - work.ideal);
  };
  for (std::size_t step = 0; step < runWork.stepCount(); ++step) {
    for (const RunWork::Id id : runWork.chain(step, rank)) {
      add(id);
      if (runWork.isCollective(id)) continue;
      for (const RunWork::Id input : graph.node(id).inputs) {
        if (input != RunWork::kNone && graph.node(input).isMessage) add(input);
      }
    }
    for (const RunWork::Collective& each : runWork.collectives(step, rank)) {
      if (!each.isChained) add(runWork.idOf(each));
    }
  }
}

void SetWhatIfs::run(std::size_t step, const RunNetwork& network) {
  if (whatIfs_ == 0) return;
  const auto whatIfOf = [&](const RunNetwork::Operation& work) {
    const std::size_t set = setOf_(work);
    return set < count() ? whatIfOf_[set] : kNoWhatIf;
  };
  byStep_[step] = SetTimes(network, whatIfs_, whatIfOf).lengths();
}

/// In the order of steps: the sums are the same for any number of threads.
void SetWhatIfs::finish(double ideal) {
  ideal_ = ideal;
  lengths_.assign(whatIfs_, 0);
  for (std::vector<double>& ofStep : byStep_) {
    for (std::size_t i = 0; i < ofStep.size(); ++i) {
      lengths_[i] += ofStep[i] / static_cast<double>(byStep_.size());
    }
    ofStep = {};
  }
}

/// The steps that the what-if analysis uses.
struct UsableSteps {
  std::vector<std::int32_t> steps;  ///< ascending
  std::string reason;               ///< why there are none
};

/// Finds the steps in which all ranks have compute jobs, of those that are `given`, or of all. With
/// none given no rank may lack jobs.
UsableSteps usableSteps(const Timeline& timeline, const JobGraph& graph, const Topology& topology,
                        std::span<const std::int32_t> given, int threads) {
  UsableSteps usable;
  if (graph.ranks().empty()) {
    usable.reason = "there are no compute jobs";
    return usable;
  }
  std::vector<std::vector<std::int32_t>> found(graph.ranks().size());
  inParallel(threads, found.size(), [&](std::size_t r) {
    const JobGraph::Rank& rank = graph.ranks()[r];
    for (JobGraph::Id id = rank.first; id < rank.end; ++id) {
      const JobGraph::Node& job = graph.node(id);
      if (!isCompute(job.kind) || job.step < 0) continue;
      if (found[r].empty() || found[r].back() != job.step) found[r].push_back(job.step);
    }
    std::sort(found[r].begin(), found[r].end());
    found[r].erase(std::unique(found[r].begin(), found[r].end()), found[r].end());
  });
  std::vector<std::int32_t>& steps = usable.steps;
  steps = found.front();
  const auto keep = [&](const auto& others, bool isIn) {
    std::erase_if(steps, [&](std::int32_t step) {
      return std::binary_search(others.begin(), others.end(), step) != isIn;
    });
  };
  for (const auto& each : found) keep(each, true);
  if (steps.empty()) {
    usable.reason = "no step has compute jobs of all ranks";
    return usable;
  }
  if (given.empty()) {
    keep(incompleteSteps(timeline, topology, threads), false);
    if (steps.empty()) usable.reason = "some rank lacks jobs in each step";
  } else {
    std::vector<std::int32_t> wanted(given.begin(), given.end());
    std::sort(wanted.begin(), wanted.end());
    keep(wanted, true);
    if (steps.empty()) usable.reason = "none of these steps has compute jobs of all ranks";
  }
  return usable;
}

using Id = JobGraph::Id;

/// Jobs of a step, or messages that a job waits for, whose input is on a rank that is missing.
std::int64_t countLacking(const JobGraph& graph, const RunWork& work, std::size_t step) {
  std::int64_t count = 0;
  for (std::size_t r = 0; r < graph.ranks().size(); ++r) {
    work.fetch(step, r);
    for (const Id id : work.chain(step, r)) {
      if (work.isCollective(id)) continue;
      const JobGraph::Node& node = graph.node(id);
      bool lacks = node.lacksInput;
      for (const Id input : node.inputs) {
        if (input == JobGraph::kNone || !graph.node(input).isMessage) continue;
        lacks = lacks || graph.node(input).lacksInput;
      }
      if (lacks) ++count;
    }
  }
  return count;
}

/// Why the jobs of a step, of pipelines of several ranks, cannot be linked.
std::string unlinked(const Timeline& timeline, const JobGraph& graph, const RunWork& work,
                     std::size_t step) {
  for (const auto& pipeline : graph.pipelines()) {
    if (pipeline.size() < 2) continue;
    for (const std::uint32_t r : pipeline) {
      work.fetch(step, r);
      for (const Id id : work.chain(step, r)) {
        if (work.isCollective(id)) continue;
        const JobGraph::Node& job = graph.node(id);
        if (!isCompute(job.kind)) continue;
        if (job.stage < 0) {
          return "the stages of jobs on rank " + std::to_string(graph.ranks()[r].number) +
                 " are not known";
        }
        if (job.kind == JobKind::kForwardBackward && !fusedPairOf(timeline, *job.event)) {
          return "the halves of fused jobs on rank " + std::to_string(graph.ranks()[r].number) +
                 " are not known";
        }
      }
    }
  }
  return {};
}

/// In numbered runs messages name no chunk.
bool hasMessagesWithoutStage(const Timeline& timeline, std::span<const std::int32_t> steps) {
  return std::any_of(timeline.tracks.begin(), timeline.tracks.end(), [&](const Track& track) {
    return std::any_of(track.events.begin(), track.events.end(), [&](const Event& event) {
      return isTransfer(event.kind) && (event.stage < 0 || event.microBatch < 0) &&
             std::binary_search(steps.begin(), steps.end(), event.step);
    });
  });
}

/// Why a what-if analysis of these steps would not be true, as a sentence without a full stop;
/// empty: it is. Uses that many threads.
std::string refusalOf(const Timeline& timeline, const JobGraph& graph, const RunWork& work,
                      std::span<const std::int32_t> steps, int threads) {
  std::vector<std::string> reasons(work.stepCount());
  inParallel(threads, reasons.size(),
             [&](std::size_t step) { reasons[step] = unlinked(timeline, graph, work, step); });
  for (const std::string& reason : reasons) {
    if (!reason.empty()) return reason;
  }
  if (work.isNumbered()) {
    if (hasMessagesWithoutStage(timeline, steps)) {
      return "the messages do not name the chunks that they are for";
    }
    std::set<std::size_t> sizes;
    for (const auto& pipeline : graph.pipelines()) sizes.insert(pipeline.size());
    if (sizes.size() > 1) return "ranks of some replicas are missing";
    if (work.stages().back() + 1 > static_cast<std::int32_t>(work.stages().size())) {
      return "ranks of some stages are missing";
    }
    return {};
  }
  std::vector<std::int64_t> counts(work.stepCount());
  inParallel(threads, counts.size(),
             [&](std::size_t step) { counts[step] = countLacking(graph, work, step); });
  const std::int64_t lacking = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  if (lacking == 0) return {};
  return countText(lacking, "job gets its input", "jobs get their inputs") +
         " from jobs that are missing: the logs of all ranks are needed";
}

/// Computes the numbers of a run that has them.
class Analysis {
 public:
  Analysis(const JobGraph& graph, const Topology& topology, const RunWork& work, int threads)
      : graph_(graph),
        topology_(topology),
        work_(work),
        threads_(threads),
        stages_(
            work.stages().size(), [](const RunNetwork::Operation& each) { return each.stage; },
            work.stepCount()),
        positions_(
            positionsOf(graph, work),
            [&](const RunNetwork::Operation& each) {
              return static_cast<std::size_t>(graph.ranks()[each.rank].position);
            },
            work.stepCount()) {
    const auto indexOf = [&](const JobGraph::Rank& rank) {
      return topology_.dataParallelIndex(rank.replica);
    };
    std::map<int, std::uint32_t> replicas;
    for (const JobGraph::Rank& rank : graph.ranks()) replicas.try_emplace(indexOf(rank));
    for (auto& [number, index] : replicas) {
      index = static_cast<std::uint32_t>(replicas_.size());
      replicas_.push_back(number);
    }
    for (const JobGraph::Rank& rank : graph.ranks()) {
      replicaOf_.push_back(replicas.at(indexOf(rank)));
    }
  }

  void fill(Slowdown& result) {
    addWhatIfs();
    run();
    result.tSim = lengths_[0];
    result.tIdeal = lengths_[1];
    if (result.tIdeal <= 0) {
      result.reason = "the jobs take no time";
      return;
    }
    const auto ratio = [&](double length) { return length / result.tIdeal; };
    result.total = ratio(result.tSim);
    result.launch = measured_ / released_;
    for (std::size_t s = 0; s < stages_.count(); ++s) {
      result.byStage[work_.stages()[s]] = ratio(stages_.length(s));
      if (stages_.isBound(s)) result.boundStages.push_back(work_.stages()[s]);
    }
    for (std::size_t k = 0; k < work_.setNames().size(); ++k) {
      result.byKind[work_.setNames()[k]] = ratio(lengths_[firstSet_ + k]);
    }
    for (std::size_t d = 0; d < replicas_.size(); ++d) {
      result.byReplica[replicas_[d]] = ratio(byReplica_[d]);
    }
    for (std::size_t r = 0; r < graph_.ranks().size(); ++r) {
      const JobGraph::Rank& rank = graph_.ranks()[r];
      const SetWhatIfs& positions = work_.stagesArePositions() ? stages_ : positions_;
      const auto position = static_cast<std::size_t>(rank.position);
      const double ofReplica = byReplica_[replicaOf_[r]];
      const double ofPosition = positions.length(position);
      result.ranks.push_back({rank.number, replicas_[replicaOf_[r]], rank.position,
                              ratio(std::min(ofReplica, ofPosition)),
                              positions.isBound(position) && ofPosition < ofReplica});
    }
    std::sort(result.ranks.begin(), result.ranks.end(),
              [](const auto& a, const auto& b) { return a.number < b.number; });
    findShares(result);
  }

 private:
  WhatIfs& whatIfsOf(std::size_t number) {
    while (whatIfs_.size() <= number / WhatIfs::kMost) {
      whatIfs_.emplace_back(graph_.ranks().size(), work_.stages().size(), work_.setNames().size());
    }
    return whatIfs_[number / WhatIfs::kMost];
  }
  static std::uint8_t bitOf(std::size_t number) {
    return static_cast<std::uint8_t>(1U << number % WhatIfs::kMost);
  }

  /// How many positions are no stages.
  static std::size_t positionsOf(const JobGraph& graph, const RunWork& work) {
    if (work.stagesArePositions()) return 0;
    int positions = 0;
    for (const JobGraph::Rank& rank : graph.ranks()) {
      positions = std::max(positions, rank.position + 1);
    }
    return static_cast<std::size_t>(positions);
  }

  /// Everything measured, nothing, then each kind, then all but the last stage.
  void addWhatIfs() {
    whatIfsOf(0).inverted |= bitOf(0);
    std::size_t next = 2;
    firstSet_ = next;
    for (std::size_t k = 0; k < work_.setNames().size(); ++k, ++next) {
      whatIfsOf(next).bySet[k] |= bitOf(next);
    }
    allButLastStage_ = next;
    WhatIfs& last = whatIfsOf(next);
    last.inverted |= bitOf(next);
    if (!work_.stages().empty()) last.byStage[work_.stages().size() - 1] |= bitOf(next);
  }

  /// The lengths of one step.
  struct StepLengths {
    std::vector<double> whatIfs;
    std::vector<double> byReplica;
    double released = 0;
  };

  /// The length of a step as measured whose ranks begin as late as they did. `together`: the same
  /// if they all begin at 0.
  double releasedLength(std::size_t step, const RunNetwork& network, double together) const {
    std::vector<double> releases;
    releases.reserve(graph_.ranks().size());
    for (std::size_t r = 0; r < graph_.ranks().size(); ++r) {
      releases.push_back(static_cast<double>(std::max<Nanoseconds>(0, work_.release(step, r))));
    }
    if (*std::max_element(releases.begin(), releases.end()) <= 0) return together;
    using Times = RunTimes<1>;
    Times times(network);
    times.run([](const RunNetwork::Operation& work) { return Times::Row{work.measured}; },
              [](const RunNetwork::Operation&) { return Times::Row{}; },
              [&](const RunNetwork::Operation& work) { return releases[work.rank]; });
    return times.length()[0];
  }

  void run() {
    findBounds();
    std::vector<StepLengths> steps(work_.stepCount());
    inParallel(threads_, steps.size(), [&](std::size_t step) {
      StepLengths& lengths = steps[step];
      const RunNetwork network(graph_, work_, step, step + 1);
      WhatIfTimes times(network);
      for (const WhatIfs& each : whatIfs_) {
        const WhatIfTimes::Lengths some = times.run(each);
        lengths.whatIfs.insert(lengths.whatIfs.end(), some.begin(), some.end());
        if (&each == whatIfs_.data()) {
          lengths.byReplica = times.lengthsByReplica(replicaOf_, replicas_.size());
        }
      }
      lengths.released = releasedLength(step, network, lengths.whatIfs[0]);
      stages_.run(step, network);
      positions_.run(step, network);
    });
    // In the order of steps: the sums are the same for any number of threads.
    const auto count = static_cast<double>(steps.size());
    lengths_.assign(whatIfs_.size() * WhatIfs::kMost, 0);
    byReplica_.assign(replicas_.size(), 0);
    for (std::size_t step = 0; step < steps.size(); ++step) {
      const StepLengths& lengths = steps[step];
      for (std::size_t i = 0; i < lengths_.size(); ++i) lengths_[i] += lengths.whatIfs[i] / count;
      for (std::size_t d = 0; d < byReplica_.size(); ++d) {
        byReplica_[d] += lengths.byReplica[d] / count;
      }
      released_ += lengths.released / count;
      measured_ += static_cast<double>(work_.measuredLength(step)) / count;
    }
    stages_.finish(lengths_[1]);
    positions_.finish(lengths_[1]);
  }

  /// Where there are many sets, finds those that need no simulation. Before all steps are run, some
  /// of them say how long a step with ideal durations is.
  void findBounds() {
    if (stages_.areFew() && positions_.areFew()) return;
    constexpr std::size_t kMostSteps = 8;
    std::vector<double> ideals(std::min(kMostSteps, work_.stepCount()));
    inParallel(threads_, ideals.size(), [&](std::size_t i) {
      const std::size_t step = i * work_.stepCount() / ideals.size();
      const RunNetwork network(graph_, work_, step, step + 1);
      RunTimes<1> times(network);
      times.run([](const RunNetwork::Operation& work) { return RunTimes<1>::Row{work.ideal}; });
      ideals[i] = times.length()[0];
    });
    const double ideal = *std::min_element(ideals.begin(), ideals.end());
    stages_.findBounds(graph_, work_, ideal, threads_);
    positions_.findBounds(graph_, work_, ideal, threads_);
  }

  /// The mean length with everything but these ranks as measured.
  double lengthWithout(const std::vector<int>& ranks) {
    std::vector<char> isIdeal(graph_.ranks().size());
    for (std::size_t r = 0; r < isIdeal.size(); ++r) {
      const int number = graph_.ranks()[r].number;
      isIdeal[r] = std::find(ranks.begin(), ranks.end(), number) != ranks.end() ? 1 : 0;
    }
    using Times = RunTimes<1>;
    std::vector<double> lengths(work_.stepCount());
    inParallel(threads_, lengths.size(), [&](std::size_t step) {
      const RunNetwork network(graph_, work_, step, step + 1);
      Times times(network);
      times.run([&](const RunNetwork::Operation& work) {
        return Times::Row{isIdeal[work.rank] != 0 ? work.ideal : work.measured};
      });
      lengths[step] = times.length()[0];
    });
    return std::accumulate(lengths.begin(), lengths.end(), 0.0) /
           static_cast<double>(lengths.size());
  }

  void findShares(Slowdown& result) {
    std::vector<Slowdown::Rank> worst = result.ranks;
    std::stable_sort(worst.begin(), worst.end(),
                     [](const auto& a, const auto& b) { return a.score > b.score; });
    worst.resize((3 * worst.size() + 99) / 100);
    for (const Slowdown::Rank& rank : worst) result.worstRanks.push_back(rank.number);
    const double excess = result.tSim - result.tIdeal;
    if (std::abs(excess) <= 1e-9 * result.tIdeal) return;
    const auto share = [&](double without) { return (result.tSim - without) / excess; };
    if (!work_.stages().empty()) result.mS = share(lengths_[allButLastStage_]);
    result.mW = share(lengthWithout(result.worstRanks));
  }

  const JobGraph& graph_;
  const Topology& topology_;
  const RunWork& work_;
  int threads_;
  std::vector<int> replicas_;
  std::vector<std::uint32_t> replicaOf_;  // by rank
  SetWhatIfs stages_;
  SetWhatIfs positions_;  // none: they are stages
  std::vector<WhatIfs> whatIfs_;
  std::size_t firstSet_ = 0;
  std::size_t allButLastStage_ = 0;
  std::vector<double> lengths_;  // by what-if, ns
  std::vector<double> byReplica_;
  double released_ = 0;
  double measured_ = 0;
};

}  // namespace

Slowdown slowdownOf(const Timeline& timeline, const JobGraph& graph, const Topology& topology,
                    std::span<const std::int32_t> steps, int threads) {
  Slowdown result;
  const UsableSteps usable = usableSteps(timeline, graph, topology, steps, threads);
  result.reason = usable.reason;
  if (!result.reason.empty()) return result;
  const RunWork work(timeline, graph, usable.steps, threads);
  result.reason = refusalOf(timeline, graph, work, usable.steps, threads);
  if (!result.reason.empty()) return result;
  result.steps = usable.steps;
  Analysis(graph, topology, work, threads).fill(result);
  return result;
}

}  // namespace pipetrace
