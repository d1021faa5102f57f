#pragma once

#include <string>
#include <vector>

#include "analysis/steps/selection.h"
#include "analysis/topology/given_topology.h"
#include "parser/load_timeline.h"

namespace pipetrace {

/// Which run to read, and what of it to show.
struct RunRequest {
  std::vector<std::string> inputs;  ///< as for loadTimeline()
  LoadOptions reading;
  GivenTopology topology;
  bool align = true;    ///< move times into rank 0's clock, by what the inputs know of it
  bool bubbles = true;  ///< add lanes of idle time
  Selection selection;  ///< the part to show; what is measured is the whole run
  /// Profiles keep the times and the bubbles that they were written with.
  bool profilesAsWritten = false;
};

}  // namespace pipetrace
