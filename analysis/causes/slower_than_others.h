#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "analysis/run/graph/job_graph.h"
#include "analysis/run/graph/median_durations.h"
#include "analysis/run/steps/counted_steps.h"
#include "trace/timeline.h"

namespace pipetrace {

/// How much longer the jobs of each stage are than those of the others. A fused pair is a forward
/// of one stage and a backward of another: its length counts only for stages without other jobs.
class SlowerStages {
 public:
  /// The timeline and the graph must outlive it. `whole`: of the steps that it is about, which are
  /// `counted`. Where ranks meet inside jobs, stages are compared by own times.
  SlowerStages(const Timeline& timeline, const JobGraph& graph, const MedianDurations& whole,
               const CountedSteps& counted = {}, int threads = 1);

  /// Sums of medians over kinds and ranks.
  struct Stage {
    double own = 0;
    double usual = 0;  ///< of the kinds' medians over stages
    /// The same two of the time in which kernels compute; 0 where ranks do not meet inside jobs.
    double kernels = 0;
    double usualKernels = 0;
    double moving = 0;  ///< what collectives inside its jobs move, not in `own`
    std::set<int> ranks;
    double jobs = 0;       ///< how many it has in these steps
    double deviation = 0;  ///< the sum over them of |length / median − 1|
  };
  /// A stage without jobs in these steps has 0.
  const Stage& of(std::int32_t stage) const;
  std::size_t count() const { return stages_.size(); }
  /// Their numbers, ascending.
  std::vector<std::int32_t> all() const;
  /// The one that takes longest beside `usual`. There must be a stage.
  std::int32_t slowest() const { return slowestOf(all()); }
  /// The same of some of them.
  std::int32_t slowestOf(const std::vector<std::int32_t>& stages) const;

  /// How many times as long stages take as others do.
  struct Factor {
    double times = 1;
    double kernels = 0;  ///< the same of the time in which kernels compute; 0: not known
    /// Beside the other half of the stages: how many these are; 0: beside the median of all.
    std::size_t besideHalf = 0;
    bool isKnown = false;  ///< false: the others take no time

    /// Launches that take as long in all stages make `times` smaller.
    double byItself() const { return times < 1 ? times : std::max(times, kernels); }
    const char* others() const {
      if (besideHalf == 0) return "the median of stages";
      return besideHalf == 1 ? "the other stage" : "the other stages";
    }
  };
  Factor besideOthers(const std::vector<std::int32_t>& stages) const;
  /// The stages of the ranks of these if they are half of all, as of two ranks with two stages
  /// each; else these.
  std::vector<std::int32_t> halfWith(const std::vector<std::int32_t>& stages) const;

  /// Whether jobs vary so much by themselves that the stages of a rank, and this one among them,
  /// may differ from others by chance: by less than kErrors standard errors. These are those of a
  /// median of as many normal values. Not where ranks meet inside jobs, which compare otherwise.
  bool mayBeChance(std::int32_t stage) const;
  static constexpr double kErrors = 4;

  /// Whether most of what a stage takes longer than others is the time in which collectives move
  /// inside its jobs.
  bool isSlowByMoving(std::int32_t stage) const;

  /// A stage that is longer than others by less than this part of what the slowest of its rank is
  /// longer by is not slow by itself.
  static constexpr double kPartOfMost = 0.25;
  /// Those of the stages that are slow by themselves; all where none is longer than others.
  std::vector<std::int32_t> slowOnes(const std::vector<std::int32_t>& stages) const;

  /// The stage that makes a job long: of a fused pair the slower one by its other jobs, if both
  /// stages have such, else the job's own.
  std::int32_t toBlame(JobGraph::Id job) const;

 private:
  const Timeline& timeline_;
  const JobGraph& graph_;
  std::map<std::int32_t, Stage> stages_;
  std::set<std::int32_t> unfused_;  // stages that have jobs other than pairs
};

/// How long the compute jobs of each rank take beside those of its peers, the other ranks of its
/// stages (replicas, tensor-parallel peers), and beside its own at other times. A step's figure is
/// the mean length of the rank's jobs of a stage over that of its peers. Several peers have the
/// median of theirs, the lower one of an even number. Over stages it is the ratio of sums.
class SlowerRanks {
 public:
  /// From this factor on a rank is slower than its peers.
  static constexpr double kSlow = 1.02;

  /// In runs of few steps a change needs no least number of steps: from this factor on, and if the
  /// mean of the usual length of jobs in these steps lies that many standard errors above that of
  /// the other steps. A step counts beside the same step of all other ranks. Steps that do not
  /// follow each other are at most half of all, and further above the others than half of what
  /// lies between the means: chance, too, makes some steps longer than others.
  static constexpr double kClearFactor = 1.03;
  static constexpr double kClearErrors = 6;

  /// The steps in which a rank takes clearly longer than in all others (highStretchOf(); of few
  /// steps as above).
  struct Change {
    std::int32_t first = 0;
    std::int32_t last = 0;
    bool isFirstOfRun = false;  ///< `first` is the first step that counts
    bool isLastOfRun = false;   ///< `last` is the last one
    /// All of them, ascending, where others lie between them; else empty.
    std::vector<std::int32_t> apart{};
    double factor = 1;  ///< in these steps: beside its peers, else beside its other steps
    bool isBesidePeers = false;

    bool has(std::int32_t step) const {
      if (!apart.empty()) return std::binary_search(apart.begin(), apart.end(), step);
      return first <= step && step <= last;
    }
  };

  struct Rank {
    double factor = 1;   ///< beside its peers, in the median over steps; 1 without peers
    double kernels = 0;  ///< the same of the time in which kernels compute
    /// Of the factor: of ranks that meet inside jobs, as their jobs vary beside those of peers, of
    /// others as the steps do; of fewer than ten steps at least as their jobs do.
    double standardError = 0;
    std::vector<std::int32_t> stages;  ///< that it has peers in, ascending; empty: it has none
    std::optional<Change> change;

    /// Launches that take as long on all ranks make `factor` smaller.
    double byItself() const { return factor < 1 ? factor : std::max(factor, kernels); }
    /// By more than chance.
    bool isSlower() const {
      return factor >= kSlow && factor - 1 >= SlowerStages::kErrors * standardError;
    }
  };

  /// Over the steps that count. Uses that many threads, which makes no difference to the result.
  SlowerRanks(const JobGraph& graph, const CountedSteps& counted, int threads = 1);

  /// By the rank's number.
  const Rank& of(int rank) const { return ranks_.at(rank); }
  bool isSlow(int rank) const { return of(rank).isSlower() || of(rank).change; }

 private:
  std::map<int, Rank> ranks_;
};

/// How long the messages of each link are, in the median over the steps that count. A link is a
/// pair of ranks by their numbers, the lower one first. Where the messages of one direction take
/// kSlow times as long as those of the other, the link is as they are.
class LinkTimes {
 public:
  using Link = std::pair<int, int>;
  /// A link whose messages take that many times as long as those of the others is slow.
  static constexpr double kSlow = 1.2;
  /// From here on whatever its scatter: receives that are posted late hide most of some messages.
  static constexpr double kClearlySlow = 5;

  explicit LinkTimes(const JobGraph& graph, const CountedSteps& counted = {});

  bool empty() const { return medians_.empty(); }
  /// 0 where no message of the link is logged.
  Nanoseconds of(Link link) const;
  /// How far the lengths of its messages lie apart: from the first to the third quarter of them.
  Nanoseconds scatterOf(Link link) const;
  /// Whether the link is slow: kSlow times the median of the other links, and by more than its own
  /// scatter. Without other links it is.
  bool isSlow(Link link) const;
  /// From whom to whom, where its messages in one direction take longer than in the other.
  std::optional<Link> slowWayOf(Link link) const;
  /// Whether its messages, but for one in four, say when they were posted: else a late send looks
  /// like a slow link.
  bool hasPostings(Link link) const { return !unposted_.contains(link); }
  /// The median of the other links' medians; of an even count the lower of the middle two, so that
  /// it is that of a link. Empty: there are no other links.
  std::optional<Nanoseconds> ofOthers(Link link) const;
  /// The links on which messages in one direction are received before they are sent, and by how
  /// much. Their lengths are those of no message.
  const std::map<Link, Nanoseconds>& early() const { return early_; }
  bool isEarly(Link link) const { return early_.contains(link); }

 private:
  std::map<Link, Nanoseconds> medians_;
  std::map<Link, Nanoseconds> scatters_;
  std::map<Link, Nanoseconds> early_;
  std::map<Link, Link> slowWays_;
  std::set<Link> unposted_;
};

}  // namespace pipetrace
