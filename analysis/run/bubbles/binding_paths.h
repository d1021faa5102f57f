#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "analysis/run/bubbles/lazy_table.h"
#include "analysis/run/graph/job_graph.h"
#include "analysis/run/graph/median_durations.h"

namespace pipetrace {

/// The class of idle time in which a rank does other work than compute jobs.
constexpr BubbleClass classOfWork(JobKind kind) {
  return loadsData(kind) ? BubbleClass::kLateStart : BubbleClass::kSync;
}

/// `element` for each cause.
template <typename T>
constexpr std::array<T, kCauses.size()> forEachCause(T element) {
  std::array<T, kCauses.size()> list{};
  list.fill(element);
  return list;
}

/// The time that jobs and messages on a path cost, by cause (causeIndex()).
struct Collected {
  std::array<Nanoseconds, kCauses.size()> sums{};
  std::array<Nanoseconds, kCauses.size()> largest{};  ///< of one job or message
  /// The job or the message with the largest share. Where messages are not logged, the job that
  /// needs the message stands for it. kBlocked has the end of a message in front, by its number
  /// (JobGraph::LineEnd).
  std::array<JobGraph::Id, kCauses.size()> culprit = forEachCause(JobGraph::kNone);

  /// `time` must not be negative.
  void add(BubbleClass cause, Nanoseconds time, JobGraph::Id job) { add(cause, time, time, job); }
  /// The sum of several jobs, of which `job` has the largest share. Without branches: this is what
  /// the analysis does most.
  void add(BubbleClass cause, Nanoseconds sum, Nanoseconds most, JobGraph::Id job) {
    const std::size_t c = causeIndex(cause);
    const bool isLarger = most > largest[c];
    sums[c] += sum;
    largest[c] = isLarger ? most : largest[c];
    culprit[c] = isLarger ? job : culprit[c];
  }
  void add(const Collected& other);
  Nanoseconds total() const;
};

/// The paths back from each job along what it waited for last (docs/metrics.md, "Bubbles"). The
/// predecessor of a job is the job before it on its rank, a collective, or its data. It is the one
/// that ended last; the one on its rank where they ended together. That of a collective is what its
/// last member waited for, in another pipeline too. That of a message on a line is its gate: the
/// job that made its data, or the one after which its receive was posted, if that ended later and
/// the line was free by then. The job that made the data also stands for a message that begins
/// after the job which needs it. A path ends at an `lr` or `optimizer` job, but for those of
/// asynchronous pipelines: they lie between the jobs that a pipeline never stops to run. There an
/// update, or a collective of one, costs what it takes beyond that of the rank where it is
/// shortest: all ranks have that much anyway. Elsewhere an optimizer costs what it takes beyond the
/// median of its pipeline's ranks, and what the sum of gradients before it moves, as far as that
/// lies in the step after it. A job that waited inside for other ranks has the share of all that
/// its chain (InsideJobs) leads through, and waited for what the job waited for that the chain
/// enters. Several threads may use it, but for letGo() and letAllGo().
class BindingPaths {
 public:
  using Id = JobGraph::Id;

  /// When steps begin: by replica and step.
  using StepBegins = std::map<std::pair<int, std::int32_t>, Nanoseconds>;

  /// Both must outlive it. The time before the steps of `begins` makes none of their jobs late.
  /// In a run with lines paths end at the jobs that open these steps, as they do at
  /// `lr`. `asynchronous`: the replicas of asynchronous pipelines.
  BindingPaths(const JobGraph& graph, const MedianDurations& times, StepBegins begins = {},
               const std::set<int>& asynchronous = {});

  /// The share of the job, message or collective itself.
  Collected of(Id node) const;
  /// Its lateness after its last input, without its own length.
  Collected lateness(Id node) const;
  /// The node that it waited for; kNone: there is none.
  Id predecessor(Id node) const { return knownLink(node).before; }
  /// The collective that a job waited for, by itself or by an update of its rank right before it in
  /// an asynchronous pipeline; kNone: it waited for something else.
  Id metBefore(Id job) const;
  /// The same of any node, whether paths end there or not.
  Id waitedFor(Id node) const;
  /// What the rank of a job loaded before it, since its compute job before: of a job that opens its
  /// step, which others wait for.
  Collected loadsBefore(Id job) const;
  /// By how much an optimizer job is longer than the lower median of its pipeline's ranks; 0 for
  /// other jobs, and where that is not known.
  Nanoseconds longerThanUsual(Id job) const;
  /// Whether a time between two nodes of ranks with different clocks is shorter than these are
  /// exact. `from` may be kNone.
  bool isBelowClockBound(Id from, Id to, Nanoseconds time) const;
  /// Whether the order of jobs contradicts the clocks of their ranks.
  bool areClocksApart(Id a, Id b) const;
  /// PathsOfRank keep what they need of nodes that they come to. Lets go what none of them has come
  /// to since the call before. Nobody may use it meanwhile.
  void letGo() const;
  /// Lets all of it go. Nobody may use it meanwhile.
  void letAllGo() const;

 private:
  friend class PathsOfRank;

  /// The part of a node that a path needs, in half a cache line.
  struct Link {
    Nanoseconds late = 0;
    Nanoseconds work = 0;         // its length as far as that is a cause; not below 0
    Id before = JobGraph::kNone;  // the predecessor
    std::uint32_t rank = 0;       // of jobs, as an index in ranks()
    std::uint32_t group = 0;      // of compute jobs, in MedianDurations
    BubbleClass lateCause = BubbleClass::kUnknown;
    BubbleClass workCause = BubbleClass::kUnknown;
    bool isCollective : 1 = false;
    bool hasLastMember : 1 = false;  // another one: a collective is as late as that
    bool waitsInLine : 1 = false;    // a part of its lateness is that of delayOf(), not in `late`
    bool waitsInside : 1 = false;    // it has a chain, whose excess is not in `work`
  };
  /// An update of an asynchronous pipeline takes at least this on each rank.
  struct LeastUpdate {
    Nanoseconds optimizer = 0;
    Nanoseconds collective = 0;
  };
  /// The time in which messages in front of a message held its line, once its data was there.
  struct LineDelay {
    struct Part {
      Nanoseconds time = 0;
      Nanoseconds most = 0;      // of one message
      Id end = JobGraph::kNone;  // of that message, on the line
      void add(Nanoseconds more, Id by) {
        time += more;
        if (more > most) end = by;
        most = std::max(most, more);
      }
    };
    Part blocked;   // before their own begin
    Part transfer;  // after it
  };

  /// Every eighth node stands for the part of its path up to the next such node.
  static constexpr Id kStride = 8;
  struct Stretch {
    Collected collected;                  // of its nodes
    JobGraph::Id next = JobGraph::kNone;  // the node after them
    std::uint64_t ranks = 0;              // of its jobs: a bit for each, modulo 64
  };
  static std::uint64_t bitOf(std::uint32_t rank) { return std::uint64_t{1} << rank % 64U; }

  LeastUpdate leastUpdateOf(int replica) const;
  std::map<int, Nanoseconds> usualOptimizers() const;
  Nanoseconds updateExcess(Id id) const;
  const LeastUpdate* leastUpdateOf(const JobGraph::Node& node) const;
  bool isEarlier(Id a, Id b) const;
  Id inputOf(Id node, int i) const;
  Link linkOf(Id node) const;
  bool opensStep(const JobGraph::Node& job) const;
  bool isWaitedForLate(Id message) const;
  Id gateInLine(Id message) const;
  void setLateInLine(Id message, Link& link) const;
  LineDelay delayOf(Id message) const;
  void addDelay(Id message, Collected& collected) const;
  void addInside(Id job, Collected& collected) const;
  /// The same up to a job of the rank. Returns that; kNone: the chain has none.
  Id addInsideUpTo(Id job, std::uint32_t rank, Collected& collected) const;
  Id entryOf(Id job) const;
  Id loadedFor(Id node) const;
  Id waitedForByChain(Id job, Id entry) const;
  std::uint64_t ranksInside(Id job) const;
  Stretch stretchFrom(Id node) const;
  /// For PathsOfRank, which come to most nodes several times.
  const Link& link(Id node) const {
    return links_.at(node, [&](std::size_t id) { return linkOf(static_cast<Id>(id)); });
  }
  const Stretch& stretch(Id node) const {
    return stretches_.at(node / kStride,
                         [&](std::size_t i) { return stretchFrom(static_cast<Id>(i * kStride)); });
  }
  Link knownLink(Id node) const {
    const Link* const known = links_.find(node);
    return known != nullptr ? *known : linkOf(node);
  }
  void addLate(Id node, const Link& link, Collected& collected) const {
    Id culprit = link.lateCause == BubbleClass::kUnknown ? JobGraph::kNone : node;
    if (link.hasLastMember) culprit = graph_.node(node).inputs[0];
    if (link.waitsInside && culprit == node && link.late > 0) culprit = entryOf(node);
    if (culprit == node && link.late > 0) culprit = loadedFor(node);
    collected.add(link.lateCause, link.late, culprit);
    if (link.waitsInLine) addDelay(node, collected);
  }
  void add(Id node, const Link& link, Collected& collected) const {
    addLate(node, link, collected);
    collected.add(link.workCause, link.work, node);
    if (link.waitsInside) addInside(node, collected);
    collected.add(BubbleClass::kImbalance, std::max<Nanoseconds>(0, times_.imbalanceOf(link.group)),
                  node);
  }

  const JobGraph& graph_;
  const MedianDurations& times_;
  const StepBegins begins_;
  std::map<int, LeastUpdate> leastUpdates_;  // by replica, of asynchronous pipelines
  std::map<int, Nanoseconds> usualOptimizers_;
  mutable LazyTable<Link, 8> links_;
  mutable LazyTable<Stretch, 5> stretches_;  // by node / kStride
};

/// The paths that end at jobs of one rank. Long paths share most of their ways: what a path
/// collected from some of its nodes on is kept for the next one, so that each way is gone once.
class PathsOfRank {
 public:
  using Id = JobGraph::Id;

  /// `rank`: index in graph.ranks(). `paths` must outlive it.
  PathsOfRank(const BindingPaths& paths, std::uint32_t rank) : paths_(paths), rank_(rank) {}

  struct Path {
    Collected collected;
    Id end = JobGraph::kNone;  ///< the job of the rank; kNone: the path has none
  };
  /// The sum of what lies before `node` on its path, up to a job of the rank, which is not part of
  /// it. If `node` waited for a collective, only the lateness of that is. So it is for the rank's
  /// own updates before `node`, where paths do not end at them.
  Path upTo(Id node);
  /// The same with `node` itself, and with all of a collective that it waited for. A job of the
  /// rank is its own end, with nothing before it.
  Path from(Id node) { return walk(node, {}); }
  /// Lets go of what is kept. Paths of later steps seldom come to it, and it takes memory.
  void forget() { known_.clear(); }
  /// The same, and gives the memory back: ranks may be many, and their paths long.
  void letGo() {
    known_ = KnownPaths();
    segments_ = decltype(segments_)();  // in place of {}, which keeps the memory
  }

 private:
  /// Paths by the node where they begin. They are all forgotten at once, and often.
  class KnownPaths {
   public:
    /// Null: there is none. Valid until the next add().
    const Path* find(Id node) const;
    void add(Id node, const Path& path);  // if there is none yet
    void clear();

   private:
    struct Slot {
      Id node = JobGraph::kNone;
      std::uint32_t round = 0;
      std::uint32_t path = 0;
    };
    std::size_t slotOf(Id node) const;  // its own one, or the free one that it would get

    std::vector<Slot> slots_;  // a power of two; those of earlier rounds are free
    std::vector<Path> paths_;
    std::uint32_t round_ = 1;
  };

  Path walk(Id from, const Collected& first);
  Id ownInside(Id job, const BindingPaths::Link& link);

  const BindingPaths& paths_;
  std::uint32_t rank_;
  KnownPaths known_;
  std::vector<std::pair<Id, Collected>> segments_;  // of the path that is gone now
};

}  // namespace pipetrace
