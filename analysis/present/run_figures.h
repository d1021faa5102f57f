#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "analysis/causes/explanation.h"

namespace pipetrace {

/// Mean, median and 99th percentile of a number over steps.
struct Distribution {
  double mean = 0;
  double median = 0;
  double p99 = 0;  ///< the least value that 99 % of them do not exceed
};

Distribution distributionOf(std::vector<double> values);

/// A number of steps, as both reports show it.
struct StepFigure {
  const char* key;      ///< in the JSON; ends with _ns if it is a time
  const char* heading;  ///< in the tables for people; empty: in the JSON only
  double (*of)(const ExplainedStep& step);
  /// Whether it needs all jobs of a step.
  bool needsWholeSteps = false;
  /// Whether it is how long a step takes: its median is that of MedianStep, which leaves out steps
  /// that lack jobs.
  bool isLength = false;
  /// Whether it needs the next step, to know when that begins.
  bool needsNext = false;

  bool isInTables() const { return *heading != '\0'; }
  bool isKnown(const ExplainedStep& step) const {
    return (!needsWholeSteps || step.efficiency.planned > 0) &&
           (!needsNext || (step.summary.isFollowed && !step.summary.isWholeRun));
  }
};

/// Those of the report, in their order.
const std::vector<StepFigure>& stepFigures();

/// The distribution of a figure over the steps that count, those of each pipeline; nothing if there
/// is none.
std::optional<Distribution> overSteps(const Explanation& explanation, const StepFigure& figure);

/// How many steps count; a step of several pipelines is one.
std::size_t countedSteps(const Explanation& explanation);

/// How the ranks of a run are arranged.
struct Arrangement {
  std::size_t ranks = 0;
  int pipelineRanks = 0;  ///< of the largest pipeline
  int pipelines = 0;
  int replicas = 0;     ///< data-parallel indices
  int tensorRanks = 1;  ///< ranks that share the work of a stage
  int chunks = 0;       ///< most stages on a rank
  std::set<std::int32_t> steps;
  std::size_t jobs = 0;  ///< compute jobs
};

Arrangement arrangementOf(const Explanation& explanation);

/// Indices of ranks (Explanation::ranks) in the order of their numbers.
std::vector<std::uint32_t> ascending(const Explanation& explanation,
                                     std::vector<std::uint32_t> ranks);

/// The ranks with the most time, at most that many, in the same order. `times`: by index of a rank.
std::vector<std::uint32_t> mostExpensive(const Explanation& explanation,
                                         const std::map<std::uint32_t, Nanoseconds>& times,
                                         std::size_t most);

}  // namespace pipetrace
