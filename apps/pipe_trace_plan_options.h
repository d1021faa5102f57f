#pragma once

#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace pipetrace {

/// The costs as they were typed: each empty, or one decimal number for all virtual stages, or one
/// for each, with commas between them. Read digit by digit (apps/plan_costs.h).
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
  double bandwidthGbs = 0;
};

/// What `pipe-trace plan` was asked to do.
struct PlanOptions {
  std::string schedule;
  std::string scheduleFile;
  std::optional<int> ranks;
  std::optional<int> microBatches;
  std::optional<int> chunks;
  std::optional<int> transferCredits;
  PlanCostOptions costs;
  std::string limitGb;
  int steps = 1;

  bool list = false;
  bool check = false;
  std::string buffers;
  bool json = false;
  bool jobList = false;
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
