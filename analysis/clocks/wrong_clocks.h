#pragma once

#include <vector>

#include "trace/clock_skew.h"
#include "trace/timeline.h"

namespace pipetrace {

/// The run as ranks on these hosts would have logged it, each in its own host's clock. `hosts`: by
/// rank; ranks beyond them stay as they are. With `areCompared`, ranks have exact comparisons with
/// rank 0's clock, at the begin and the end of the run.
Timeline loggedByHosts(Timeline run, const std::vector<MadeUpHost>& hosts, bool areCompared);

}  // namespace pipetrace
