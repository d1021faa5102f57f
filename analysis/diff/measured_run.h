#pragma once

#include <algorithm>
#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "analysis/run/run.h"
#include "trace/bubble_class.h"
#include "trace/nanoseconds.h"

namespace pipetrace {

/// Sums divided by one weight, in whole nanoseconds that add up to the rounded mean of all of them
/// together. Each mean is rounded down. The nanoseconds that are then missing go to those with the
/// largest remainders, of equal ones to the first (the method of Hare and Niemeyer). So each is
/// less than 1 ns off. `sums`: none is negative, and all together fit Nanoseconds. `weight` > 0.
std::vector<Nanoseconds> exactMeans(const std::vector<Nanoseconds>& sums, std::int64_t weight);

/// A sum divided by its weight > 0, rounded half up.
Nanoseconds roundedMean(Nanoseconds sum, std::int64_t weight);

/// How the ranks of a run are arranged, and what its logs hold.
struct ComparedShape {
  std::map<int, Topology::Place> places;  ///< of the ranks with compute jobs
  int depth = 0;                          ///< ranks of a pipeline, those without a log included
  int chunks = 1;                         ///< stages on a rank
  int stages = 0;                         ///< virtual ones
  int pipelines = 0;
  int tensorRanks = 1;
  std::vector<std::vector<int>> ranksOfStage;  ///< as in Topology
  int worldSize = 0;                           ///< 0: the logs do not say it
  bool isInferred = false;                     ///< the logs do not say which ranks are a pipeline
  bool lacksRanks = false;                     ///< jobs wait for ranks that have no log

  /// Pipelines that train on data of their own: a tensor-parallel group is one.
  int replicas() const { return std::max(1, pipelines / std::max(1, tensorRanks)); }
};

/// A run as it is compared with another one: all times by step. A plain value, which points into no
/// timeline.
///
/// A step is one that counts (CountedSteps), with all its jobs; of several pipelines it is one
/// step. The window of an asynchronous run is cut into stretches (StepStretches); each of them is a
/// step here.
struct MeasuredRun {
  /// Busy time or jobs of a rank.
  struct WorkKey {
    int rank = 0;
    std::int32_t stage = -1;  ///< -1: jobs name none
    JobKind kind = JobKind::kOther;
    auto operator<=>(const WorkKey&) const = default;
  };
  /// Idle time of all ranks.
  struct IdleKey {
    BubbleClass bubbleClass = BubbleClass::kUnknown;
    /// They are to blame, as the row of the class says. These are a rank, a rank and its stage, or
    /// the ranks of a link, the lower one first. -1: nobody, or not known.
    int rank = -1;
    int other = -1;
    auto operator<=>(const IdleKey&) const = default;
  };
  /// The lower rank first.
  using Link = std::pair<int, int>;
  /// Lengths of jobs or messages that belong to a step.
  struct Lengths {
    std::vector<Nanoseconds> sums;  ///< by step
    std::vector<std::int64_t> counts;
  };
  struct Step {
    std::int32_t number = 0;        ///< as logged; of a stretch its place
    Nanoseconds window = 0;         ///< summed over ranks
    std::int64_t ranks = 0;         ///< how many these are
    std::int64_t microBatches = 0;  ///< of their pipelines, summed over ranks
    /// From its window to the next step's, summed over ranks; empty: some pipeline has none.
    std::optional<Nanoseconds> between;
    /// The part of it in which data are loaded, by the rank of each pipeline that does so for
    /// longest; empty: not known.
    Nanoseconds loads = 0;
  };

  ComparedShape shape;
  std::string schedule;  ///< "1F1B", "unknown order"
  Phase phase = Phase::kTraining;
  bool isAsynchronous = false;
  bool logsMessages = false;
  bool meetsInside = false;       ///< ranks wait for each other inside jobs (InsideJobs)
  std::int64_t microBatches = 0;  ///< of a pipeline in a step; 0: they differ
  std::set<JobKind> kinds;        ///< of compute jobs
  std::string leftOut;            ///< CountedSteps::leftOutText()
  std::size_t incomplete = 0;     ///< steps that are left out, as jobs of them are missing
  bool allAreIncomplete = false;  ///< all steps are, and count
  std::optional<double> tokensPerStep;
  bool hasSameBatch =
      false;  ///< steps have as many samples as those of the other run: a caller says so

  std::vector<Step> steps;  ///< in the order of time
  /// By step. Busy and idle time of a step add up to its window.
  std::map<WorkKey, std::vector<Nanoseconds>> busy;
  std::map<IdleKey, std::vector<Nanoseconds>> idle;
  std::map<WorkKey, Lengths> jobs;
  /// Over all steps, by stage and kind, then micro-batch: the sum and the number of jobs.
  std::map<std::pair<std::int32_t, JobKind>,
           std::map<std::int32_t, std::pair<Nanoseconds, std::int64_t>>>
      byMicroBatch;
  /// From the later of the two starts to the end.
  std::map<Link, Lengths> messages;
};

/// The mean window over ranks and steps. There must be steps.
Nanoseconds meanStepOf(const MeasuredRun& run);

/// The mean time from a window to the next one; empty: that of no step is known.
std::optional<Nanoseconds> meanBetweenOf(const MeasuredRun& run);

/// All but lacksRanks, which needs the job graph.
ComparedShape shapeOf(const Timeline& timeline, const Topology& topology);

/// Measures a run. `steps`: as of Run::countedSteps(). Throws Error where it has no compute job.
MeasuredRun measureRun(const Run& run, const std::vector<NumberRange>& steps);

/// The steps of the run that are compared, as ExplainOptions::steps: what is said of the run alone
/// is then of these steps, too. `chosen`: the steps that it was measured with, which these are
/// where no step of them lacks jobs.
std::vector<NumberRange> comparedSteps(const MeasuredRun& run,
                                       const std::vector<NumberRange>& chosen);

/// The run with these of its steps only, ascending indices in MeasuredRun::steps. The time
/// between two steps is known where these follow each other. `byMicroBatch` stays that of all.
MeasuredRun withSteps(const MeasuredRun& run, const std::vector<std::size_t>& chosen);

}  // namespace pipetrace
