#pragma once

#include <QString>
#include <vector>

#include "viewer/causes/graph_places.h"

namespace pipetrace {

/// A place in the chart where a finding can be seen.
struct FindingPlace {
  EventSpot spot;
  QString words;  ///< "bubble of 12.30 ms on rank 0, step 3"
};

/// Where the evidence of a finding is. Empty where none of it is in the chart.
std::vector<FindingPlace> placesOfFinding(const Finding& finding, const GraphPlaces& places);

}  // namespace pipetrace
