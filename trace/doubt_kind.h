#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace pipetrace {

/// Things that must be true of any run, and are not true of this one. kNone for diagnostics that
/// leave the figures of a run as good as they are.
enum class DoubtKind : std::uint8_t {
  kNone,
  kNoTime,           ///< events have no time: they are at 0, or outside of all others
  kOverruns,         ///< work on a stream or thread goes on while the next one runs there
  kCoarseTimes,      ///< times are exact to a share of a job only, or jobs have no length
  kLastJobLong,      ///< a rank's last job is far longer than all others like it
  kLengthsApart,     ///< a rank's jobs are far longer or shorter than those of the others
  kClocksApart,      ///< a job begins before its data can have been made
  kClocksMoved,      ///< the same, until times were moved by the order of jobs
  kContradiction,    ///< no clock makes all messages arrive after they are sent
  kSeveralRuns,      ///< the ranks are not of one run
  kOverlappingJobs,  ///< compute jobs of one rank run at the same time
  kJobsTwice,        ///< several ranks of a pipeline run the same jobs
  kTooEfficient,     ///< steps are shorter than their own jobs allow
  kDeviceBeyondRun,  ///< a device works longer than its run lasts
  kNothingRecorded,  ///< for most of a step no rank did anything
  kSilentRanks,      ///< ranks send and receive nothing, while others do
  kStepsInside,      ///< a step ends after all later ones have ended
  kMissingJobs,      ///< a step has more jobs of one stage than of another
  kIncompleteSteps,  ///< ranks lack jobs that they have in other steps
  kMessagesBetween,  ///< messages lead from one pipeline to another
  kRanksContradict,  ///< what says which rank is where contradicts itself
  kHiddenWaits,      ///< ranks wait for each other inside jobs, and nothing says for how long
  kFoundJobs,        ///< nobody annotated jobs: a reader found them
};
inline constexpr std::size_t kDoubtKindCount = static_cast<std::size_t>(DoubtKind::kFoundJobs) + 1;

/// The effect of a doubt on the report.
enum class DoubtEffect : std::uint8_t {
  kLeftOut,          ///< what it is about counts in no figure
  kCut,              ///< what it is about is shorter than recorded
  kCausesWithheld,   ///< idle time that they would explain is of no known cause
  kMoved,            ///< times are not those that were recorded
  kFiguresDoubtful,  ///< figures are made all the same
};

/// All that must be known of a kind of doubts but how it is found (analysis/run/doubts.cpp) and in
/// which words it is said (analysis/present/doubt_sentences.cpp).
struct DoubtRow {
  DoubtKind of;
  std::string_view name = {};  ///< in JSON: "clocks_apart"
  DoubtEffect effect = DoubtEffect::kFiguresDoubtful;
  /// Whether it can be so bad that figures mean nothing (Doubt::isMeaningless).
  bool mayRefuse = false;
  const char* leavesOut = "";  ///< what is no case of it, for docs/metrics.md
};

inline constexpr std::array<DoubtRow, kDoubtKindCount> kDoubtKinds = {{
    {.of = DoubtKind::kNone},
    {.of = DoubtKind::kNoTime,
     .name = "no_time",
     .effect = DoubtEffect::kLeftOut,
     .leavesOut = "runs whose other times are near 0 as well"},
    {.of = DoubtKind::kOverruns,
     .name = "overruns",
     .effect = DoubtEffect::kCut,
     .leavesOut = "20 us of programmatic dependent launch, and work of one launch of a graph"},
    {.of = DoubtKind::kCoarseTimes,
     .name = "coarse_times",
     .leavesOut = "a twentieth of a job, simulated runs, and jobs of a kind that are all alike"},
    {.of = DoubtKind::kLastJobLong,
     .name = "last_job_long",
     .leavesOut = "jobs that are up to five times as long as the longest other one of their kind "
                  "and stage"},
    {.of = DoubtKind::kLengthsApart,
     .name = "lengths_apart",
     .leavesOut = "ranks whose jobs are up to 50 times as long as those of the median rank"},
    {.of = DoubtKind::kClocksApart,
     .name = "clocks_apart",
     .effect = DoubtEffect::kCausesWithheld,
     .leavesOut = "the bounds of both clocks and 50 us, fused pairs and jobs in parts"},
    {.of = DoubtKind::kClocksMoved, .name = "clocks_moved", .effect = DoubtEffect::kMoved},
    {.of = DoubtKind::kContradiction, .name = "contradiction"},
    {.of = DoubtKind::kSeveralRuns, .name = "several_runs"},
    {.of = DoubtKind::kOverlappingJobs,
     .name = "overlapping_jobs",
     .mayRefuse = true,
     .leavesOut = "recomputations, and 1 % of the rank's time in jobs"},
    {.of = DoubtKind::kJobsTwice,
     .name = "jobs_twice",
     .leavesOut = "ranks that take turns at the micro-batches of a stage"},
    {.of = DoubtKind::kTooEfficient,
     .name = "too_efficient",
     .mayRefuse = true,
     .leavesOut = "10 % of a step, as jobs are not equally long in all steps"},
    {.of = DoubtKind::kDeviceBeyondRun,
     .name = "device_beyond_run",
     .leavesOut = "0.1 % of the run"},
    {.of = DoubtKind::kNothingRecorded,
     .name = "nothing_recorded",
     .leavesOut = "stretches that are shorter than half of a step and than ten times the work of "
                  "its busiest rank"},
    {.of = DoubtKind::kSilentRanks,
     .name = "silent_ranks",
     .leavesOut = "runs without any message, and pipelines of one rank"},
    {.of = DoubtKind::kStepsInside, .name = "steps_inside", .leavesOut = "asynchronous runs"},
    {.of = DoubtKind::kMissingJobs,
     .name = "missing_jobs",
     .leavesOut = "asynchronous runs, fused pairs, jobs in parts, and steps that are incomplete as "
                  "a whole"},
    {.of = DoubtKind::kIncompleteSteps, .name = "incomplete_steps"},
    {.of = DoubtKind::kMessagesBetween,
     .name = "messages_between_pipelines",
     .leavesOut = "messages between tensor-parallel peers"},
    {.of = DoubtKind::kRanksContradict,
     .name = "ranks_contradict",
     .leavesOut = "ranks without a file"},
    {.of = DoubtKind::kHiddenWaits, .name = "hidden_waits", .leavesOut = "1 % of the time in jobs"},
    {.of = DoubtKind::kFoundJobs, .name = "found_jobs"},
}};

static_assert(
    [] {
      for (std::size_t i = 0; i < kDoubtKinds.size(); ++i) {
        const DoubtRow& row = kDoubtKinds[i];
        if (row.of != static_cast<DoubtKind>(i) || (i > 0 && row.name.empty())) return false;
      }
      return true;
    }(),
    "a kind of doubts lacks its row, or stands elsewhere");

constexpr const DoubtRow& rowOf(DoubtKind kind) {
  return kDoubtKinds[static_cast<std::size_t>(kind)];
}

}  // namespace pipetrace
