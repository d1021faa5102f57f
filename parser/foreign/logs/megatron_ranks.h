#pragma once

#include "trace/timeline.h"

namespace pipetrace {

/// Puts the ranks of a MegatronApp run together once all their files have been read, as its own
/// script does: an iteration begins on all ranks at once, the longest `pad_before` after the
/// longest `duration_wall` of the one before. Positions in the pipeline become virtual stages.
/// Does nothing to ranks that MegatronReader has not read.
void lineUpMegatronRanks(Timeline& timeline);

}  // namespace pipetrace
