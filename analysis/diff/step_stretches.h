#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "analysis/run/run.h"

namespace pipetrace {

/// The steps of a run that are compared, as stretches of time of each pipeline: the windows of the
/// steps that count and have all their jobs. Where no step has all, all that count. A step of
/// several pipelines is one. An asynchronous run has no steps that begin and end. Its window is cut
/// where the first rank of its pipeline begins the first forward of each step. Where these are
/// fewer than kLeastSteps, it is cut into kParts stretches with equally many of these forwards.
class StepStretches {
 public:
  static constexpr std::size_t kLeastSteps = 8;
  static constexpr std::size_t kParts = 20;

  struct Stretch {
    Interval span;
    std::size_t index = 0;          ///< of the step, in the order of time
    std::int64_t microBatches = 0;  ///< of the pipeline; of an asynchronous run forwards that begin
  };

  /// It is of the steps that count. Both must outlive it.
  StepStretches(const Run& run, const CountedSteps& counted);

  std::size_t count() const { return numbers_.size(); }
  bool areOfAsynchronousRun() const { return isAsynchronous_; }
  std::size_t incomplete() const { return incomplete_; }
  bool allAreIncomplete() const { return allAreIncomplete_; }
  std::int32_t number(std::size_t step) const { return numbers_[step]; }
  /// From the windows of a step to the next ones, summed over ranks; empty: some pipeline has none.
  std::optional<Nanoseconds> between(std::size_t step) const { return between_[step]; }
  /// MeasuredRun::Step::loads.
  Nanoseconds loads(std::size_t step) const { return loads_[step]; }
  /// The stretches of a pipeline, an index in JobGraph::pipelines(); ascending, without overlap.
  const std::vector<Stretch>& of(std::size_t pipeline) const { return stretches_[pipeline]; }
  /// The pipeline of a rank, an index in JobGraph::ranks().
  std::size_t pipelineOf(std::uint32_t rank) const { return pipelines_[rank]; }
  /// The step that a job or message belongs to. In an asynchronous run it is the stretch in which
  /// it begins. Empty: none that is compared.
  std::optional<std::size_t> stepOf(std::size_t pipeline, const JobGraph::Node& node) const;

 private:
  void findSteps();
  void findPauses();
  Nanoseconds loadsIn(const StepSummary& step) const;
  void findStretches();
  void cut(std::size_t pipeline, const Interval& window);
  void countMicroBatches(std::size_t pipeline);

  const Run& run_;
  const CountedSteps& counted_;
  bool isAsynchronous_ = false;
  bool allAreIncomplete_ = false;
  std::size_t incomplete_ = 0;
  std::map<std::int32_t, std::size_t> indices_;  // by the number of the step
  std::vector<std::int32_t> numbers_;
  std::vector<std::optional<Nanoseconds>> between_;
  std::vector<Nanoseconds> loads_;
  std::vector<std::vector<Stretch>> stretches_;
  std::vector<std::size_t> pipelines_;
};

}  // namespace pipetrace
