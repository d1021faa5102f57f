#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "analysis/run/graph/job_graph.h"
#include "analysis/run/steps/counted_steps.h"
#include "analysis/run/steps/interval.h"

namespace pipetrace {

/// What jobs of a rank are made of (InsideJobs::Parts), in nanoseconds. A plain value.
struct InsideTimes {
  struct OfGroups {
    std::string use;  ///< axisWords() of the groups; "other" where that says nothing
    JobKind kind = JobKind::kAllReduce;
    Nanoseconds waiting = 0;
    Nanoseconds moving = 0;
  };

  int rank = 0;
  std::int64_t steps = 0;  ///< in which it has jobs
  std::int64_t jobs = 0;
  InsideJobs::Parts parts;
  std::vector<OfGroups> groups;  ///< by use, then kind; those with some time
  /// What it waits for the last members of collectives: by the kind of job and the place of the
  /// collective in it (a layer has one or a few), by micro-batch, by step.
  std::map<std::pair<JobKind, int>, Nanoseconds> waitingByPlace;
  std::map<std::int32_t, Nanoseconds> waitingByMicroBatch;
  std::map<std::int32_t, Nanoseconds> waitingByStep;
  std::map<std::int32_t, Nanoseconds> ownByMicroBatch;  ///< InsideJobs::Parts::own of its jobs

  /// Those of a kind of group; null: there is no time in it.
  const OfGroups* of(const std::string& use, JobKind kind) const;
  /// Adds jobs, parts and groups, as of another rank.
  void add(const InsideTimes& other);
};

/// By rank, over the steps that count; empty for a run in which no ranks meet inside jobs.
std::vector<InsideTimes> insideTimesOf(const JobGraph& graph, const CountedSteps& counted);

/// Of one compute job.
InsideTimes insideTimesOfJob(const JobGraph& graph, JobGraph::Id job);

/// Of the jobs of a rank (an index in JobGraph::ranks()) that are at least partly in `time`. Of a
/// job that is cut off there, each part counts by the share of the job that is in it: the four add
/// up to what is in `time`, to the nanosecond. It takes no account of waitingBy….
InsideTimes insideTimesIn(const JobGraph& graph, std::uint32_t rank, Interval time);

/// The kinds of groups that some of these have, by use, then kind.
std::vector<std::pair<std::string, JobKind>> groupsOf(std::span<const InsideTimes> times);

/// What waits are looked at by.
enum class WaitsBy : std::uint8_t { kPlace, kMicroBatch, kStep };

/// The waits of one column: at a place in jobs of a kind, in a micro-batch, or in a step.
struct WaitsKey {
  JobKind kind = JobKind::kOther;  ///< of places: of the job
  std::int32_t number = 0;         ///< of places: from 0
};

/// The job of a rank (its number) with the longest wait for the last members of collectives that
/// InsideTimes::waitingBy… has under that key; of several the first. kNone: it waits for nobody
/// there.
JobGraph::Id longestWait(const JobGraph& graph, const CountedSteps& counted, int rank, WaitsBy by,
                         WaitsKey key);

/// The same of its own time, of a micro-batch.
JobGraph::Id longestOwn(const JobGraph& graph, const CountedSteps& counted, int rank,
                        std::int32_t microBatch);

}  // namespace pipetrace
