#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/diff/comparison.h"
#include "chart/chart_model.h"
#include "chart/steps/step_span.h"
#include "trace/topology.h"

namespace pipetrace {

/// One of two runs that are compared.
enum class WhichRun : std::uint8_t { kA, kB };

/// A step of a run, as twins are looked for in it. Refers to both.
struct StepOfRun {
  const ChartModel& model;
  const Topology& topology;
  StepSpan step;
};

/// A compute job in a chart.
struct JobSpot {
  std::size_t row = 0;
  const Event* event = nullptr;
};

/// The compute jobs of a step of run A, and those of a step of run B that do the same work: that of
/// the same place, micro-batch and kind, as far as both runs have them. Where one run cuts the work
/// into more jobs, such as halves of backwards, twins are several jobs. Refers to the events of
/// both. Immutable: several threads may read it.
class JobTwins {
 public:
  /// The jobs of both runs that do the same work.
  struct Twins {
    std::uint32_t firstA = 0;  // in jobs_
    std::uint32_t firstB = 0;
    std::uint32_t end = 0;
    Nanoseconds a = 0;  ///< the sum of their durations, of A
    Nanoseconds b = 0;

    Nanoseconds difference() const { return b - a; }
    bool isInBoth() const { return firstA < firstB && firstB < end; }
  };
  /// A job of a row, for those who draw.
  struct Drawn {
    Nanoseconds begin = 0;
    Nanoseconds end = 0;
    std::uint32_t twins = 0;  ///< the index for twins()
  };

  /// `how`: of both runs. Takes O(n log n) of the jobs in both steps. Ends early, with any result,
  /// once `stop` is set.
  JobTwins(const StepOfRun& a, const StepOfRun& b, const Comparison& how,
           const std::atomic<bool>& stop);

  const StepSpan& step(WhichRun run) const { return steps_[static_cast<std::size_t>(run)]; }
  /// All jobs of both steps, also those that only one run has.
  const std::vector<Twins>& twins() const { return twins_; }
  std::span<const JobSpot> jobsOf(const Twins& twins, WhichRun run) const;
  /// The twins of a job; nothing for one of another step, or that is no compute job.
  const Twins* twinsOf(WhichRun run, const JobSpot& job) const;
  /// The jobs of a row of that run that have twins, by their begins.
  std::span<const Drawn> drawnIn(WhichRun run, std::size_t row) const;
  /// Of the jobs [first, last) of drawnIn(): the difference that is furthest from 0. Takes time
  /// proportional to a 64th of their number.
  Nanoseconds largestOf(WhichRun run, std::size_t row, std::size_t first, std::size_t last) const;

  /// Those that differ, indices for twins(): the longest difference first, whatever its sign; of
  /// equal ones the earlier in A first. Differences of less than leastDifference() are left out.
  const std::vector<std::uint32_t>& byDifference() const { return byDifference_; }
  /// A hundredth of A's median job, and at least a microsecond: less is not worth a look.
  Nanoseconds leastDifference() const { return least_; }
  /// The longest difference, without its sign; 0: there is none.
  Nanoseconds longestDifference() const;
  /// How many jobs have twins, of both runs.
  std::size_t matchedCount() const { return matched_; }
  /// What has no twins and why, a sentence without a full stop each; none: all jobs have.
  const std::vector<std::string>& unmatched() const { return unmatched_; }

 private:
  struct Key;
  struct Found;

  static std::vector<Found> jobsIn(const StepOfRun& of, const Comparison& how);
  void join(std::vector<Found> a, std::vector<Found> b, const std::atomic<bool>& stop);
  void addRows(const StepOfRun& of, WhichRun run);
  void sortByDifference();

  static constexpr std::size_t kBlock = 64;
  struct Row {
    std::vector<Drawn> jobs;
    std::vector<Nanoseconds> largest;  // of each block of jobs
  };

  std::array<StepSpan, 2> steps_;
  std::vector<JobSpot> jobs_;  // by twins: those of A, then those of B
  std::vector<Twins> twins_;
  std::array<std::vector<Row>, 2> rows_;
  std::vector<std::uint32_t> byDifference_;
  std::vector<std::string> unmatched_;
  Nanoseconds least_ = 0;
  std::size_t matched_ = 0;
};

}  // namespace pipetrace
