#pragma once

#include "runtime/control/verdict/failure_agreement.h"
#include "trace/nanoseconds.h"

namespace pipetrace {

/// The time after which a rank tells all others again where it is. That is 4 ms for each rank of
/// the run, but 100 ms at least and 1 s at most.
Nanoseconds beatOf(int worldSize);

/// The limits of a run with this beat; `limits` are those for a beat of 100 ms. A rank that has
/// noticed nothing reads what others say once a beat. So the ranks agree only if the one that
/// decides waits longer than a beat for causes, and the others longer than that and one more beat.
FailureLimits limitsAt(Nanoseconds beat, FailureLimits limits);

/// The limits of a run whose ranks are connected as a tree with this number of levels. They read
/// what others say at once, but it takes its way through the tree, and a status takes a beat for
/// each level.
FailureLimits limitsInTree(Nanoseconds beat, int levels, FailureLimits limits);

}  // namespace pipetrace
