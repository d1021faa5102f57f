#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/run/costs/given_costs.h"
#include "analysis/run/run.h"
#include "analysis/what_if/run_model.h"
#include "apps/cli/cost_options.h"
#include "schedule/partition/block_table.h"
#include "schedule/plan.h"
#include "schedule/scale/scale_option.h"

namespace pipetrace {

/// A comparison of plans needs this of the run of --costs-from, beside its costs.
struct RunForComparison {
  /// The replica that the others wait for; none: the run has one.
  std::optional<SlowestReplica> slowest;
  /// RunModel::slowRanks(). The costs of their stages are then those of their peers.
  std::vector<ScaleOption> slowRanks;
  Nanoseconds launch = 0;  ///< RunModel::usualLaunch(), which no costs have
};

/// The costs that the options give: from the costs file, a run, or option by option. Throws Error
/// for what cannot be read, naming the option. Also throws Error when the inputs of --costs-from
/// are of several runs; when a log holds several, the last counts, and a warning on stderr says so.
/// `run`, if given, gets the plan of the run of --costs-from.
///
/// `comparison`, if given, is filled in. Where the run has several replicas, the costs are then
/// those of the slowest one. Their optimizer takes as long as all that comes after the last
/// compute job of its steps.
///
/// GivenCosts::links are those of the run (RunModel::unusualLinks()). A run of several replicas has
/// them for a comparison only.
GivenCosts readCosts(const CostOptions& options, std::optional<RunPlan>* run = nullptr,
                     RunForComparison* comparison = nullptr);

/// The blocks file of --blocks. Throws Error for what cannot be read.
BlockTable readBlocks(const std::string& path);

/// The costs of a plan's stages. The plan gets recomputes on the stages where these take time, and
/// the reductions of stages on several ranks, where any takes time. Links that no message of the
/// plan takes are left out. A plan that has
/// recomputes already keeps its own, which take as long as their forwards unless `given` says how
/// long. Throws Error as completeCosts() does; `plan` may have problems.
Costs completeCostsAndPlan(GivenCosts& given, Plan& plan);

/// Warns on stderr about --reduce-ms for a plan without stages on several ranks.
void warnOfUnusedReductions(const CostOptions& options, const Plan& plan);

/// --limit in bytes; 0: no limit. Throws Error for a text that is no size, and where memory is not
/// known.
std::int64_t readLimit(const std::string& limitGb, const GivenCosts& costs);
/// --limit-activations in millionths of an activation; 0: no limit. Throws Error for a text that is
/// no number, and where memory is known in bytes.
std::int64_t readActivationLimit(const std::string& limit, const GivenCosts& costs);
/// As readLimit(), of a plan whose partition is searched.
std::int64_t readLimit(const std::string& limitGb, const BlockTable& blocks);

}  // namespace pipetrace
