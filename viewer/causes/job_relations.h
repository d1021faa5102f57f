#pragma once

#include <vector>

#include "viewer/causes/graph_places.h"

namespace pipetrace {

/// A job that another one waited for, or that waited for it.
struct Relation {
  enum class Kind : std::uint8_t {
    kLane,       ///< the two are next to each other on a rank
    kData,       ///< the second needs what the first made
    kCollective  ///< they are members of a collective, or wait for it
  };
  JobGraph::Id job = JobGraph::kNone;
  JobGraph::Id message = JobGraph::kNone;  ///< that brought the data, if it is logged
  Kind kind = Kind::kLane;
  /// The second job waited for the first one last.
  bool isLast = false;
};

/// A step from job to job on the way of a micro-batch.
struct ChainLink {
  JobGraph::Id from = JobGraph::kNone;
  JobGraph::Id to = JobGraph::kNone;
  JobGraph::Id message = JobGraph::kNone;
};

/// Finds what jobs of a graph waited for. Looks at no more than kMostJobs jobs around
/// a job: in huge steps some that waited for it may be missing. Several threads may use it.
class JobRelations {
 public:
  using Id = JobGraph::Id;
  static constexpr std::size_t kMostJobs = 200'000;

  /// Must outlive it.
  explicit JobRelations(const GraphPlaces& places) : places_(places), graph_(places.graph()) {}

  /// Returns what a job or message waited for. The job before it on its rank comes first.
  std::vector<Relation> waitedFor(Id node) const;
  /// Returns the jobs that waited for a job or message, in the order of their begins.
  std::vector<Relation> waiting(Id node) const;
  /// The job that it waited for last; messages and collectives on the way are skipped. kNone: none.
  Id waitedForLast(Id node) const;
  /// Returns the job that waited for it last and began first. Where there is none, it is the first
  /// of all that waited. kNone: none.
  Id waitingFirst(Id node) const;
  /// The way of the job's micro-batches through all stages, forward and back; of a fused pair both.
  std::vector<ChainLink> chainOf(Id job) const;

 private:
  /// A job and the data that it makes.
  struct Made {
    Id job = JobGraph::kNone;
    std::int32_t stage = kNotGiven;
    std::int32_t microBatch = kNotGiven;
    bool isForward = true;
  };

  std::vector<Made> madeBy(Id job) const;
  std::vector<Made> madeAround(Id job) const;
  template <typename Visit>
  void visitStep(Id job, const Visit& visit) const;

  const GraphPlaces& places_;
  const JobGraph& graph_;
};

}  // namespace pipetrace
