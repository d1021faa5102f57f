#pragma once

#include "schedule/builders/rank_row_writer.h"

namespace pipetrace {

/// The size of one rank's part of DualPipe or DualPipeV.
struct DualPipeSize {
  int depth = 1;         ///< ranks from an outer one to the innermost
  int position = 0;      ///< of this rank: 0 is outermost, depth - 1 innermost
  int microBatches = 2;  ///< of each of the two streams, at least 2 * depth
};

/// Writes the eight steps of one rank. `outer` is the chunk that takes its stream from the
/// outermost rank on. In DualPipe that is the direction that enters the pipeline on this rank's
/// half; in DualPipeV it is the first stages. `inner` is the other chunk. Source: DeepSeek's
/// DualPipe, steps 1 to 8 of its step().
void addDualPipeSteps(RankRowWriter& row, const DualPipeSize& size, int outer, int inner);

}  // namespace pipetrace
