#pragma once

#include "analysis/diff/run_diff.h"

namespace pipetrace {

/// Fills in RunDiff::jobs and RunDiff::links. Jobs are matched by place, kind and micro-batch: only
/// micro-batches that both runs have count, unless times are compared per micro-batch. Links are
/// compared where the ranks are the same and both logs have messages.
///
/// A change is clear if it is beyond the simultaneous 95 % interval of all that are compared, and
/// at least RunDiff::kLeastChange of A's length. One rank of several has a change alone if it has
/// four fifths of what is longer or shorter, and so has one micro-batch.
void compareLengths(RunDiff& diff, const BlockBootstrap& bootstrap);

}  // namespace pipetrace
