#pragma once

#include <cstdint>
#include <vector>

#include "analysis/graph/job_graph.h"

namespace pipetrace {

/// Numbers the jobs, collectives and ends of messages on lines that are alike in every step, such
/// as forward 5 of stage 2.
/// Those are of one rank, and have the same kind, stage, micro-batch and part. Numbers count from
/// 0, rank after rank. Several threads may use it.
class AlikeJobs {
 public:
  using Id = JobGraph::Id;
  using Number = std::uint32_t;

  explicit AlikeJobs(const JobGraph& graph, int threads = 1);

  std::size_t count() const { return firsts_.size(); }
  /// `node` must not be a message.
  Number of(Id node) const { return numbers_[node < jobs_ ? node : node - collectives_ + jobs_]; }
  /// `end`: that of a message on a line (JobGraph::LineEnd).
  Number ofEnd(Id end) const { return endNumbers_[end]; }
  /// An end with that number; kNone: it is of jobs or collectives.
  Id endOf(Number number) const {
    return number < firstEnd_ ? JobGraph::kNone : ends_[number - firstEnd_];
  }
  /// The rank of the jobs with that number, as an index in JobGraph::ranks().
  std::uint32_t rankOf(Number number) const { return firsts_[number].rank; }
  /// The stage of these; kNotGiven: they name none.
  std::int32_t stageOf(Number number) const { return firsts_[number].stage; }
  bool areFusedPairs(Number number) const {
    return static_cast<JobKind>(whatOf(number) >> kKindShift) == JobKind::kForwardBackward;
  }
  /// A word that says what they are. It is the same on all ranks; words have the order of kind,
  /// stage, micro-batch and part.
  std::uint64_t whatOf(Number number) const { return firsts_[number].what; }

 private:
  static constexpr unsigned kKindShift = 56;
  static std::uint64_t whatOf(const JobGraph::Node& node);
  void numberEnds(const JobGraph& graph);

  struct First {
    std::uint64_t what = 0;
    std::uint32_t rank = 0;
    std::int32_t stage = kNotGiven;
  };

  Id jobs_ = 0;
  Id collectives_ = 0;           // where they begin
  std::vector<Number> numbers_;  // of jobs, then of collectives
  std::vector<First> firsts_;    // by number
  std::vector<Number> endNumbers_;
  Number firstEnd_ = 0;
  std::vector<Id> ends_;  // one of each number from firstEnd_ on
};

}  // namespace pipetrace
