#include "samples/sample_strategy.h"

#include "trace/error.h"

namespace pipetrace {

Strategy strategyOf(const SampleOptions& options) {
  Strategy strategy{
      .plan = options.plan,
      .partitionFile = options.partitionFile,
      .recomputeRatio = options.recomputeRatio,
      .precision = precisionOf(options.precision),
      .clipNorm = options.clipGradNorm,
      .stashUpdate = options.stashUpdate == "oldest" ? StashUpdate::kOldest : StashUpdate::kNewest,
      .overlaps = !options.noSendRecvOverlap};
  takeUsual(strategy.plan);
  if (options.lossScale.empty()) return strategy;
  try {
    strategy.lossScale = lossScaleIn(options.lossScale);
  } catch (const Error& error) {
    throw Error("--loss-scale " + options.lossScale + ": " + error.what());
  }
  return strategy;
}

}  // namespace pipetrace
