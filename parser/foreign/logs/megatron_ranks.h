#pragma once

#include "trace/timeline.h"

namespace pipetrace {

/// Aligns the ranks of a MegatronApp run after all their files have been read, as MegatronApp's own
/// script does. An iteration begins on all ranks at once: the longest `pad_before` after the one
/// before it, which took the longest `duration_wall`. Positions in the pipeline become virtual
/// stages. Ranks that MegatronReader has not read stay as they are.
void lineUpMegatronRanks(Timeline& timeline);

}  // namespace pipetrace
