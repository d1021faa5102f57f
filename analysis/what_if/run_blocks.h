#pragma once

#include <optional>
#include <vector>

#include "schedule/costs.h"
#include "schedule/partition/block_table.h"
#include "schedule/plan.h"
#include "trace/timeline.h"

namespace pipetrace {

/// A question about a run says this of the blocks of its model.
struct GivenBlocks {
  std::optional<BlockTable> table;          ///< none: the blocks of a stage are alike
  std::optional<BlockPartition> partition;  ///< that the run had; none: as its logs say
};

/// The blocks of the model that a run trained.
struct RunBlocks {
  BlockTable table;
  BlockPartition partition;  ///< that the run had
  bool isMeasured = true;    ///< false: there is no table, and the blocks of a stage are alike

  /// The costs of the stages of a plan of `count` stages, from those of the run: with that
  /// partition, or else as cutBlocks() cuts them. Throws Error as MeasuredBlocks and cutBlocks()
  /// do.
  std::vector<StageCosts> stages(const std::vector<StageCosts>& stages, int count,
                                 const std::optional<BlockPartition>& changed) const;

  /// By how much of a backward the input half is, on a stage of the run.
  double inputShareOf(int stage) const;
};

/// The partition that the logs of a run name; none: they do not. Throws Error where they contradict
/// each other.
std::optional<BlockPartition> loggedPartition(const Timeline& timeline);

/// The blocks of a run. Throws Error, which begins with the option: the partition of the run is not
/// known, the logs contradict the given one, or the table is of another number of blocks.
RunBlocks runBlocks(const GivenBlocks& given, const Timeline& timeline);

/// Gives messages the times that a changed plan's have. `costs` has those of the run, and the sizes
/// of the changed plan's messages (StageCosts::message); `run` are the run's stages. With a
/// bandwidth more bytes take longer by their own time, else in proportion. A link of several sizes
/// has their mean. Sizes that are not known change nothing.
void scaleMessages(const Plan& runsPlan, const std::vector<StageCosts>& run, const Plan& plan,
                   double bandwidth, Costs& costs);

}  // namespace pipetrace
