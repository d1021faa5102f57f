#pragma once

#include <optional>
#include <string>
#include <vector>

#include "schedule/file/paddle_job_list.h"

namespace CLI {
class App;
}

namespace pipetrace {

/// The costs as they were typed: each empty, or one decimal number for all virtual stages, or one
/// for each, with commas between them. Read digit by digit (apps/pipe_trace/plan/costs.h).
struct PlanCostOptions {
  std::string file;                   ///< --costs
  std::vector<std::string> measured;  ///< --costs-from
  std::string forwardMs;
  std::string backwardMs;
  std::string backwardInputMs;
  std::string backwardWeightMs;
  std::string fusedMs;
  std::string transferMs;
  std::string lrMs;
  std::string optimizerMs;
  std::string activationGb;
  std::string freedByInputGb;
  std::string weightsGb;
  std::string messageMb;
  std::optional<double> bandwidthGbs;
};

/// What `pipe-trace plan` was asked to do.
struct PlanOptions {
  std::string schedule;
  std::string scheduleFile;
  std::optional<int> ranks;  ///< to build; of a schedule file: that it should have
  std::optional<int> microBatches;
  std::optional<int> chunks;
  std::optional<int> transferCredits;
  PlanCostOptions costs;
  std::string limitGb;
  int steps = 1;

  bool list = false;
  bool check = false;
  std::string buffers;
  int mostVersions = 0;   ///< 0: any number
  int mostDistance = -1;  ///< negative: any
  bool json = false;
  bool jobList = false;
  PaddleJobListOptions jobs;
  std::string csv;
  std::string costsOut;
  std::vector<std::string> outputs;
  std::optional<int> width;

  /// Whether standard output belongs to something else than the chart.
  bool hasOtherResult() const { return list || check || json || jobList || csv == "-"; }
};

/// The flag table of `pipe-trace plan`, with what excludes and needs what. `options` must outlive
/// `app`.
void addPlanOptions(CLI::App& app, PlanOptions& options);

}  // namespace pipetrace
