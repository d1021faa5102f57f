#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

namespace pipetrace {

class Run;

/// Costs as they were typed. Each is empty, one decimal number for all virtual stages, or one
/// number for each, with commas between them. readCosts() reads them digit by digit.
struct CostOptions {
  std::string file;                   ///< --costs
  std::vector<std::string> measured;  ///< --costs-from
  const Run* run = nullptr;           ///< the run of --costs-from, where it is read already
  std::string forwardMs;
  std::string backwardMs;
  std::string backwardInputMs;
  std::string backwardWeightMs;
  std::string fusedMs;
  std::string recomputeMs;
  std::string reduceMs;
  std::string transferMs;  ///< this and the next two are one number
  std::string lrMs;
  std::string optimizerMs;
  std::string agreeMs;  ///< one number
  std::string activationGb;
  std::string freedByInputGb;
  std::string recomputedGb;
  std::string workingGb;
  std::string weightsGb;
  std::string messageMb;
  std::optional<double> bandwidthGbs;
};

/// The heading of the options below in the help.
inline constexpr const char* kTimesGroup =
    "Times (per virtual stage: one number for all of them, or one for each as 10,12,11,10)";

/// Declares --costs-from and the options for times: --forward-ms, --backward-ms, --transfer-ms,
/// --lr-ms and --optimizer-ms. `to` must outlive `app`.
void addTimeOptions(CLI::App& app, CostOptions& to);

/// As addTimeOptions(), for a plan that is simulated: what is not given has a default, backward
/// passes may be split and fused, and links may have a bandwidth. Also declares --costs, which it
/// returns, and which excludes all others.
CLI::Option* addPlanTimeOptions(CLI::App& app, CostOptions& to);

}  // namespace pipetrace
