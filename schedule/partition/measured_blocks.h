#pragma once

#include <vector>

#include "schedule/partition/block_table.h"

namespace pipetrace {

/// Throws Error with the reason if the partition does not fit these numbers.
void requireFits(const BlockPartition& partition, int numBlocks, int numStages);

/// The blocks of a model with the times of a run. The measured times of each stage are shared over
/// its blocks in proportion to a table, each kind of job by that kind's column. So the run's own
/// partition takes as long as was measured, to the nanosecond. A block of a stage that is slower
/// than the table says stays slower.
class MeasuredBlocks {
 public:
  /// `run` is the partition that the run had, `stages` what its stages were measured to take.
  /// Their memory is in any unit.
  ///
  /// Where the table has memory, activations are in proportion to it, and the stages of the run
  /// hold as much in the mean as `stages` says. Else all blocks hold equally much.
  /// Blocks of a stage that runs some again, where `run` does not say which, run again in part.
  ///
  /// Throws Error for a table or a partition that does not fit, and for blocks that take no time in
  /// the table where their stage takes some.
  MeasuredBlocks(const BlockTable& table, const BlockPartition& run,
                 const std::vector<StageCosts>& stages);

  /// The costs of the stages of another partition. Where it does not say which blocks run again, as
  /// many of a stage's do as did so in the run, and they are the last ones. A block that did not
  /// takes as long for it as the others do, in proportion to its forward. Memory is that of
  /// activations.
  std::vector<StageCosts> stages(const BlockPartition& partition) const;

  /// The table with the times and the activations of the run. Blocks that run again hold nothing,
  /// and their recomputes are parts of their backwards.
  BlockTable table() const;

  /// How many bytes of the table are a unit of the activations of `stages`; 0: not known.
  double bytesOfUnit() const { return unit_ > 0 ? 1 / unit_ : 0; }

 private:
  void share(const std::vector<StageCosts>& stages);
  void shareActivations(const std::vector<StageCosts>& stages);
  int runAgain(const BlockPartition& partition, int stage, int first) const;
  void findRecomputes(const std::vector<StageCosts>& stages);

  BlockTable table_;  // as given
  BlockPartition run_;
  std::vector<StageCosts> blocks_;  // measured; recompute: if it runs again
  std::vector<bool> runsAgain_;     // in the run
  double unit_ = 0;  // activations of the run for each byte of the table; 0: it has no memory
};

/// The partition into `count` stages that is nearest to `run`. If that is a multiple of its stages,
/// each is cut into as equal numbers of blocks as possible. If it is a part, neighbours join. Else
/// all blocks are spread evenly. Throws Error where a stage has too few blocks.
BlockPartition cutBlocks(const BlockPartition& run, int count);

}  // namespace pipetrace
