#pragma once

#include <string>
#include <vector>

#include "analysis/clocks/alignment.h"
#include "analysis/steps/selection.h"
#include "analysis/topology/given_topology.h"
#include "parser/load_timeline.h"

namespace pipetrace {

/// The run to read, and the part of it to show.
struct RunRequest {
  std::vector<std::string> inputs;  ///< as for loadTimeline()
  LoadOptions reading;
  GivenTopology topology;
  AlignBy align = AlignBy::kBest;  ///< how times are moved into rank 0's clock
  bool bubbles = true;             ///< add lanes of idle time
  Selection selection;             ///< the part to show; figures are those of the whole run
  /// Whether profiles keep the times and the bubbles that they were written with.
  bool profilesAsWritten = false;
};

}  // namespace pipetrace
