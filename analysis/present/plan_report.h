#pragma once

#include <string>
#include <vector>

#include "analysis/run/costs/plan_figures.h"
#include "schedule/check/problem.h"
#include "schedule/partition/best_partition.h"

namespace pipetrace {

/// A plan and its figures. A plan that cannot run has problems instead of figures.
struct PlanReport {
  const Plan& plan;
  const Costs* costs = nullptr;
  const PlanFigures* figures = nullptr;
  int steps = 1;
  bool hasMemory = false;  ///< memory is in bytes; else it counts activations, and is left out
  std::vector<Problem> problems = {};
  std::vector<std::string> faults = {};  ///< planted, as they were typed; not in `costs`
  std::string commStreams =
      {};  ///< message, peer or rank; empty: the plan's messages have no lines
  /// That was searched for the plan, and whose costs these are; null: none was.
  const BestPartition* partition = nullptr;
};

/// A title such as "1F1B, 4 ranks, 8 micro-batches". It has the chunks of a rank if there are
/// several, "forwards only" where there is no backward pass, and the credits if there are any.
std::string planTitle(const Plan& plan);
/// One line: "length 33.00 ms, bubble ratio 0.2727, span bubble 0.2727". Where the windows of the
/// steps, of which the ratio is a share, are not the whole length, they follow it.
std::string planLine(const PlanFigures& figures);
/// One line: "with planted faults: --scale stage=2:1.3, --delay 1F4@2=30ms".
std::string faultsLine(const std::vector<std::string>& faults);

/// The figures as text under the chart: length and bubbles, a row for each rank, the critical path,
/// the closed form. Ends with a newline. `report` must have figures. Lines of prose have at most
/// `width` bytes, unless a word is longer.
std::string planText(const PlanReport& report, int width = 100);

/// The partition as a table of stages, with its step beside that of the even one. Ends with a
/// newline.
std::string partitionText(const BestPartition& partition, int width = 100);

/// The report as one JSON object with the keys of docs/schedules.md. Ends with a newline.
std::string planJson(const PlanReport& report);

}  // namespace pipetrace
