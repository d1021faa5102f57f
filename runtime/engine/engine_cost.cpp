#include "runtime/engine/engine_cost.h"

#include <algorithm>

#include "runtime/costs/measure_costs.h"
#include "runtime/engine/best_partition.h"
#include "runtime/stage_work.h"
#include "schedule/simulate/simulate.h"
#include "trace/error.h"

namespace pipetrace {
EngineCost costOf(const CheckedPlan& plan, const Costs& costs) {
  const Simulation simulation = simulate(plan, costs);
  EngineCost cost{.step = simulation.length, .costs = costs};
  Nanoseconds busy = 0;
  for (const Simulation::Rank& rank : simulation.ranks) {
    busy += rank.busy;
    cost.peakBytes.push_back(rank.peakMemory);
  }
  const double all =
      static_cast<double>(simulation.length) * static_cast<double>(simulation.ranks.size());
  if (all > 0) cost.bubbleRatio = 1 - static_cast<double>(busy) / all;
  return cost;
}

Batch firstMicroBatch(const Plan& plan, const DataSet& data) {
  const std::int64_t rows = std::min(data.rows, data.batchSize);
  const MicroBatchRows split{.rows = rows, .microBatches = plan.microBatchesOfReplica()};
  if (rows < split.microBatches) {
    throw Error("a step of " + std::to_string(rows) + " rows has none for some of its " +
                std::to_string(split.microBatches) + " micro-batches");
  }
  Batch first = data.batch(0, rows);
  for (auto& [name, tensor] : first) tensor = tensor.narrow(0, 0, split.countOf(0));
  return first;
}

EngineCost measuredCostOf(const EngineShared& shared, const DataSet& data) {
  const Plan& plan = *shared.plan;
  if (shared.options.device != "cpu") {
    throw Error("cost() measures on the CPU; give it costs that were measured on " +
                shared.options.device);
  }
  const Batch first = firstMicroBatch(plan, data);
  const BestPartitionOptions asBlocksAre;
  const MeasuredCosts measured = measureCosts({.model = shared.model,
                                               .partition = shared.partition,
                                               .seed = shared.options.seed,
                                               .optimizer = shared.optimizer,
                                               .precision = shared.strategy.precision},
                                              plan, first, asBlocksAre.measured);
  EngineCost cost = costOf(shared.plan, measured.costs);
  for (std::size_t rank = 0; rank < cost.peakBytes.size(); ++rank) {
    for (const int stage : plan.stagesOfRank(static_cast<int>(rank))) {
      cost.peakBytes[rank] += measured.updating[static_cast<std::size_t>(stage)];
    }
  }
  return cost;
}

}  // namespace pipetrace
