#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "analysis/run/graph/job_graph.h"
#include "trace/timeline.h"

namespace pipetrace {

/// The kinds of work of the what-if analysis. Jobs and transfers are of their JobKind. Collectives,
/// `data` and `default` jobs with different names are of different kinds, as long as these names
/// are few: names that differ from event to event are no kinds.
class WorkKinds {
 public:
  using Id = std::uint16_t;

  /// Call add() for each event, then finish(), then the others. The timeline must outlive it.
  explicit WorkKinds(const Timeline& timeline) : timeline_(timeline) {}

  void add(const Event& event) { add(event.kind, event); }
  /// The same; `kind` is the event's, which need not be looked at in many cases.
  void add(JobKind kind, const Event& event);
  void add(const WorkKinds& other);
  void finish();

  std::size_t count() const { return kinds_.size(); }
  Id of(const Event& event) const { return of(event.kind, event); }
  /// The same; `kind` is the event's, which need not be looked at in most cases.
  Id of(JobKind kind, const Event& event) const {
    const Names& names = names_[index(kind)];
    return names.isOne ? names.kind : names.kinds.at(event.name);
  }
  /// Whether its ideal is the median, not the mean: of transfers and collectives.
  bool isCommunication(Id kind) const { return kinds_[kind].isCommunication; }
  /// Index in setNames(): a send and its receive are in one.
  std::uint16_t setOf(Id kind) const { return kinds_[kind].set; }
  const std::vector<std::string>& setNames() const { return setNames_; }

 private:
  struct Kind {
    bool isCommunication = false;
    std::uint16_t set = 0;
  };
  struct Names {
    std::map<StringId, Id> kinds;  // by name
    bool isOne = true;             // the names are not told apart
    Id kind = 0;                   // if so
    StringId latest = ~StringId{0};
  };

  static std::size_t index(JobKind kind) { return static_cast<std::size_t>(kind); }
  std::uint16_t setNamed(const std::string& name);

  const Timeline& timeline_;
  std::array<Names, kJobKindCount> names_{};
  std::vector<Kind> kinds_;
  std::vector<std::string> setNames_;
};

/// Everything of a run that takes time in the what-if analysis: the jobs of the compute lanes, the
/// messages and the collectives. It knows what each waits for beside its data, and how long it is,
/// measured and ideal.
///
/// Operations are numbered: jobs and messages as in the graph, then the collectives of the steps to
/// use.
class RunWork {
 public:
  using Id = JobGraph::Id;
  static constexpr Id kNone = JobGraph::kNone;

  struct Collective {
    Id node = kNone;                ///< in the graph
    std::uint32_t group = 0;        ///< its members begin together
    bool isChained = false;         ///< it is in the chain of its rank
    Id before[2] = {kNone, kNone};  ///< else: the job and the collective that it follows
    Id next = kNone;                ///< else: the job that waits for it
  };

  /// `steps`: those to use, ascending. `idealSteps`: those of them that ideals are made of,
  /// ascending; empty: all. The timeline and the graph must outlive it.
  RunWork(const Timeline& timeline, const JobGraph& graph, std::span<const std::int32_t> steps,
          int threads, std::vector<std::int32_t> idealSteps = {});

  /// As of the graph. The operations of numbered runs wait as those of the study do.
  bool isNumbered() const { return graph_.isNumbered(); }

  std::size_t rankCount() const { return graph_.ranks().size(); }
  /// Steps that ran into each other on a rank count as one.
  std::size_t stepCount() const { return stepCount_; }
  /// The operations of a rank (index in graph.ranks()) in a step (index) that run one after the
  /// other.
  std::span<const Id> chain(std::size_t step, std::size_t rank) const {
    return chains_[cellOf(step, rank)];
  }
  /// Asks memory for what chain() of a step has on this rank and on a later one, which are all over
  /// the graph. For those who visit the ranks of a step in order.
  void fetch(std::size_t step, std::size_t rank) const;
  std::span<const Collective> collectives(std::size_t step, std::size_t rank) const {
    const std::size_t cell = cellOf(step, rank);
    return std::span(collectives_)
        .subspan(firstCollective_[cell], firstCollective_[cell + 1] - firstCollective_[cell]);
  }
  Id idOf(const Collective& collective) const {
    return nodes_ + static_cast<Id>(&collective - collectives_.data());
  }
  bool isCollective(Id work) const { return work >= nodes_; }
  const Collective& collective(Id work) const { return collectives_[work - nodes_]; }

  /// The job of its receiver that a message had to wait for, as its receive was not posted before;
  /// kNone: none. Only where receives begin when they are posted.
  Id postedAfter(Id message) const;

  /// Whether a message begins after the job that made its data. In numbered runs its send says so.
  bool waitsForSender(Id message) const {
    return !isNumbered() || graph_.message(message).send != nullptr;
  }
  /// The step (index) that an operation is in; stepCount() and more: in none of those to use.
  std::size_t stepIndexOf(Id work) const { return stepOf(graph_.node(nodeOf(work)).step); }

  const Event& event(Id work) const { return *graph_.node(nodeOf(work)).event; }
  /// When it began: a message with the later of its ends, a collective by itself.
  Nanoseconds beginOf(Id work) const {
    return isCollective(work) ? event(work).begin : graph_.node(work).begin;
  }
  Nanoseconds endOf(Id work) const { return graph_.node(nodeOf(work)).end; }
  std::uint32_t rankOf(Id work) const { return graph_.node(nodeOf(work)).rank; }
  /// The place of a job or collective among those of its step.
  std::uint32_t indexInStep(Id work) const { return index_[work]; }
  const std::vector<std::string>& setNames() const { return kinds_.setNames(); }
  /// In the graph.
  Id nodeOf(Id work) const { return isCollective(work) ? collective(work).node : work; }
  /// Whether stage i of stages() is all that ranks at position i have, messages included: what is
  /// asked of a stage is asked of a position, too.
  bool stagesArePositions() const { return stagesArePositions_; }
  /// The stages that jobs name, ascending.
  const std::vector<std::int32_t>& stages() const { return stages_; }
  /// The index of its stage in stages(); of what names none, the only stage of its rank; else
  /// stages().size(). A message is of its receiver's, a fused pair of its forward's.
  std::uint32_t stageOf(Id work) const;
  std::uint16_t setOf(Id work) const { return kinds_.setOf(kindOf_[work]); }
  double measured(Id work) const;  ///< ns, without waiting
  /// ns; of a job on a stage that several ranks share, as many times as much.
  double ideal(Id work) const { return ideals_[kindOf_[work]] * turnsAt(work); }

  /// From the first begin to the last end of a step, ns.
  Nanoseconds measuredLength(std::size_t step) const {
    return spans_[step].end - spans_[step].begin;
  }
  /// When a rank could begin a step, ns after the step's begin: the end of its last job before.
  /// 0 and less: that did not hold the step up.
  Nanoseconds release(std::size_t step, std::size_t rank) const;

 private:
  struct Span {
    Nanoseconds begin = 0;
    Nanoseconds end = 0;
  };

  struct Durations;

  static constexpr std::uint32_t kNoStep = ~std::uint32_t{0};
  double turnsAt(Id work) const;
  std::size_t cellOf(std::size_t step, std::size_t rank) const {
    return step * graph_.ranks().size() + rank;
  }
  std::uint32_t stepOf(std::int32_t number) const;
  void findSteps(std::span<const std::int32_t> steps, int threads);
  void fillChains(int threads);
  void findCollectives();
  void chainCollectives(std::size_t cell);
  void placeCollectives(std::size_t cell);
  void numberOperations(int threads);
  void findPosting(int threads);
  void findStages(int threads);
  void findKinds(int threads);
  void addDuration(Id work, Durations& durations) const;
  void findIdeals(int threads);
  void findSpans(int threads);
  template <typename Visit>
  void visitOperations(std::size_t rank, const Visit& visit) const;

  const Timeline& timeline_;
  const JobGraph& graph_;
  Id nodes_ = 0;
  bool arePosted_ = false;
  bool stagesArePositions_ = false;
  std::vector<const Event*> firstOfTracks_;                    // ascending
  std::vector<std::pair<std::int32_t, std::uint32_t>> steps_;  // number and index, ascending
  std::size_t stepCount_ = 0;
  std::vector<std::vector<Id>> chains_;       // by step and rank
  std::vector<Collective> collectives_;       // by step and rank
  std::vector<std::size_t> firstCollective_;  // by step and rank
  std::vector<std::uint32_t> index_;          // by work
  std::vector<std::int32_t> stages_;
  std::vector<std::int32_t> onlyStage_;  // by rank; negative: it has several
  WorkKinds kinds_;
  std::vector<WorkKinds::Id> kindOf_;
  std::vector<double> ideals_;  // by kind
  std::vector<std::int32_t> idealSteps_;
  std::vector<Span> spans_;  // by step
};

}  // namespace pipetrace
