#include "runtime/engine/config/config_plan.h"

#include <algorithm>

#include "runtime/engine/config/config_file.h"
#include "runtime/engine/training_plan.h"
#include "trace/error.h"
#include "trace/text/number_text.h"

namespace pipetrace {
namespace {

/// "config_file" of a rank that is missing: what says how many there are.
void requireSize(const RunConfig& config) {
  for (const char* const name : {"stages", "stage_ranks", "schedule_file"}) {
    if (config.find(name) != nullptr) return;
  }
  throw Error(config.file +
              ": it does not say how many ranks there are; give machines, config_file, partition "
              "or stages");
}

void requireMachines(const RunConfig& config, const Plan& plan) {
  const auto named = static_cast<int>(config.machines.size());
  const int ranks = plan.numRanks();
  if (named == 0 || named == ranks) return;
  throw Error(placeIn(config.file, config.machinesLine) + ": machines: it names " +
              countText(named, "rank") + ", but the plan " + plan.name + " has " +
              std::to_string(ranks));
}

void requirePartition(const RunConfig& config, const Strategy& strategy, const Plan& plan) {
  if (strategy.partitionFile.empty()) return;
  const int stages = partitionOption(strategy.partitionFile).numStages();
  if (stages == plan.numStages) return;
  throw Error(config.placeOf("partition") + ": " + config.find("partition")->key + ": it is for " +
              countText(stages, "stage") + ", but the plan " + plan.name + " has " +
              std::to_string(plan.numStages));
}

}  // namespace

Strategy strategyOf(const RunConfig& config) {
  const std::vector<std::string> known = strategyOptions();
  Strategy strategy;
  for (const ConfigOption& option : config.options) {
    if (std::find(known.begin(), known.end(), option.name) == known.end()) continue;
    const std::string place = placeIn(config.file, option.line) + ": " + option.key + ": ";
    if (option.values.size() != 1) throw Error(place + "one value is meant here");
    try {
      setOption(strategy, option.name, option.values.front());
    } catch (const Error& error) {
      const std::string text = error.what();
      const std::string start = option.name + " = ";  // of setOption()
      throw Error(place + (text.starts_with(start) ? text.substr(start.size()) : text));
    }
  }
  return strategy;
}

CheckedPlan planOf(const RunConfig& config) {
  requireSize(config);
  const Strategy strategy = strategyOf(config);
  try {
    CheckedPlan plan = planOf(strategy);
    requireMachines(config, *plan);
    requirePartition(config, strategy, *plan);
    return plan;
  } catch (const Error& error) {
    const std::string text = error.what();
    throw Error(text.starts_with(config.file) ? text : config.file + ": " + text);
  }
}

}  // namespace pipetrace
