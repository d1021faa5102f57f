#pragma once

#include <string>
#include <vector>

#include "analysis/explain/explanation.h"

namespace pipetrace {

/// A figure of a run on its page. Plain texts.
struct RunCard {
  std::string figure;  ///< "33.7 %"
  std::string name;    ///< "bubble ratio"
  std::string detail;  ///< "mean; median 33.7 %"
};

/// The figures that are asked for first, as far as they are known.
std::vector<RunCard> runCards(const Explanation& run);

}  // namespace pipetrace
