#pragma once

#include <string>
#include <vector>

#include "analysis/costs/plan_figures.h"
#include "schedule/check/problem.h"

namespace pipetrace {

/// A plan, as far as it is known: a plan that cannot run has problems and no figures.
struct PlanReport {
  const Plan& plan;
  const Costs* costs = nullptr;
  const PlanFigures* figures = nullptr;
  int steps = 1;
  bool hasMemory = false;  ///< memory is in bytes; else it counts activations, and is left out
  std::vector<Problem> problems = {};
};

/// "1F1B, 4 ranks, 8 micro-batches", with the chunks of a rank where it has several.
std::string planTitle(const Plan& plan);
/// "length 33.00 ms, bubble ratio 0.2727, span bubble 0.2727".
std::string planLine(const PlanFigures& figures);

/// The figures for people, under the chart: length and bubbles, a row for each rank, the critical
/// path, what theory says. Ends with a newline. `report` has figures. Lines of prose have at most
/// `width` bytes, as far as their words are shorter.
std::string planText(const PlanReport& report, int width = 100);

/// All of it as one JSON object, keys as docs/schedules.md lists them. Ends with a newline.
std::string planJson(const PlanReport& report);

}  // namespace pipetrace
