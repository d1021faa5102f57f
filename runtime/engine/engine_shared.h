#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/engine/engine.h"
#include "runtime/session/session.h"
#include "runtime/train/trained_stages.h"

namespace pipetrace {

/// The ranks of an engine have this in common. It is only read while they run.
struct EngineShared {
  const Model model;
  const OptimizerMaker optimizer;
  const std::vector<Metric> metrics;
  const Strategy strategy;
  const EngineOptions options;
  const CheckedPlan plan;
  const Partition partition;
  const std::string logDirectory;       ///< empty: nothing is recorded
  const std::optional<ProcessEnv> env;  ///< empty: the ranks are threads of this process

  int microBatches() const { return plan->microBatchesOfReplica(); }
  /// The rank that reports the loss.
  int reporter() const { return plan->lastRankOf(0); }
  std::vector<int> allRanks() const;
  std::string folderOfInspections() const;
  void print(const std::string& line) const;
  void say(const std::string& line) const;
};

/// The place of this process (EngineOptions::env). Empty unless it is given, or a launcher has
/// started the process as one of several ranks.
std::optional<ProcessEnv> placeOf(const EngineOptions& options);

/// The first micro-batch of a step of the plan. Throws Error for fewer rows than micro-batches.
Batch firstMicroBatch(const Plan& plan, const DataSet& data);

/// The step of the plan as it would be with these costs.
EngineCost costOf(const CheckedPlan& plan, const Costs& costs);
/// The same with costs that are measured now, as Engine::cost() says.
EngineCost measuredCostOf(const EngineShared& shared, const DataSet& data);

}  // namespace pipetrace
