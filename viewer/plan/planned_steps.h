#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "analysis/run/run.h"
#include "chart/chart_model.h"
#include "chart/links/event_box.h"

namespace pipetrace {

/// A compute job as planned.
struct PlannedJob {
  Nanoseconds begin = 0;  ///< since the step's window began
  Nanoseconds end = 0;
  JobKind kind = JobKind::kOther;
  std::int32_t stage = kNotGiven;
  std::int32_t microBatch = 0;  ///< from 0, in the order of the run's numbers
  std::int16_t chunk = kNotGiven;

  Nanoseconds duration() const { return end - begin; }
};

/// A step of a run by the schedule that it follows, with the median times of its jobs and
/// messages (RunModel): that of the pipeline whose jobs end last. Other pipelines follow the same
/// plan.
struct PlannedSteps {
  std::string problem;   ///< why there is no plan, a sentence without a full stop; empty: there is
  std::string schedule;  ///< "1F1B"
  /// How the schedule is known: "recognised", "the logs name it", …
  std::string source;
  Nanoseconds length = 0;  ///< from the first begin to the last end of its compute jobs
  std::vector<std::vector<PlannedJob>> positions;  ///< by the position in a pipeline, by begin

  bool exists() const { return problem.empty(); }
};

/// Makes the plan of a run whose bubbles are there. Throws nothing; takes seconds for millions of
/// jobs.
PlannedSteps plannedStepsOf(const Run& run);

/// What is not as planned about a job.
enum class DeviationKind : std::uint8_t {
  kOrder,  ///< it stands elsewhere among the jobs of its rank
  kLate,   ///< it begins late, and later than the job before it on its rank
  kLong    ///< it lasts longer
};

struct Deviation {
  DeviationKind kind = DeviationKind::kOrder;
  EventSpot job;
  std::size_t planned = 0;  ///< its twin in the plan of its position
  /// By how much it begins later than planned, or lasts longer; of kOrder 0.
  Nanoseconds time = 0;
  Nanoseconds more = 0;   ///< of kLate: the part of `time` that the job before does not have
  std::size_t place = 0;  ///< of kOrder: its place among the jobs of its rank, from 0
};

/// A step of one pipeline beside the plan. Refers to the events of the chart.
struct StepBesidePlan {
  /// A rank's jobs of the step, and their twins.
  struct Rank {
    std::size_t row = 0;
    std::size_t position = 0;
    std::vector<EventSpot> jobs;       ///< by begin
    std::vector<std::size_t> planned;  ///< by job: its twin; kNone without
    std::vector<std::size_t> missing;  ///< planned jobs that the rank did not run
  };
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  StepWindow step;
  std::vector<std::int32_t> microBatches;  ///< by PlannedJob::microBatch: as jobs name it
  std::vector<Rank> ranks;                 ///< by row
  /// Those in the order first, then the longest times.
  std::vector<Deviation> deviations;

  const Rank* rankOf(std::size_t row) const;
};

/// A deviation in time is named from a tenth of the planned duration on.
inline constexpr int kLeastDeviation = 10;

/// Finds twins and deviations in the step's jobs. `window`: of `run`.
StepBesidePlan besidePlan(const PlannedSteps& plan, const Run& run, const ChartModel& model,
                          const StepWindow& window);

/// "2F5 on rank 2 lasts 3.00 ms longer than the 10.00 ms of the plan".
std::string textOf(const Deviation& deviation, const PlannedSteps& plan, const StepBesidePlan& step,
                   const ChartModel& model);

}  // namespace pipetrace
