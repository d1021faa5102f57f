#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "runtime/program/tensor_routes.h"
#include "trace/error.h"

namespace pipetrace {

/// The routes of a pipeline, with the numbers of their lanes.
class NumberedRoutes {
 public:
  struct Route : TensorRoute {
    int tensor = 0;  ///< LaneName::tensor
  };

  NumberedRoutes(const TensorRoutes& routes, int numStages) {
    std::vector<bool> isLinked(static_cast<std::size_t>(numStages));
    for (const TensorRoute& route : routes) {
      if (route.from < 0 || route.to <= route.from || route.to >= numStages) {
        throw Error("a tensor cannot go from stage " + std::to_string(route.from) + " to stage " +
                    std::to_string(route.to) + " of " + std::to_string(numStages));
      }
      const auto from = static_cast<std::size_t>(route.from);
      const bool isPlanned = route.to == route.from + 1 && route.hasGradient && !isLinked[from];
      if (isPlanned) isLinked[from] = true;
      routes_.push_back({route, isPlanned ? 0 : ++others_});
    }
    for (int stage = 0; stage + 1 < numStages; ++stage) {
      if (isLinked[static_cast<std::size_t>(stage)]) continue;
      throw Error("no tensor with a gradient goes from stage " + std::to_string(stage) +
                  " to stage " + std::to_string(stage + 1));
    }
  }

  const std::vector<Route>& all() const { return routes_; }

  /// The route of a plan's message.
  std::size_t planned(int from, int to) const {
    const auto found = std::find_if(routes_.begin(), routes_.end(), [&](const Route& route) {
      return route.from == from && route.to == to && route.tensor == 0;
    });
    return static_cast<std::size_t>(found - routes_.begin());
  }

 private:
  std::vector<Route> routes_;
  int others_ = 0;
};

}  // namespace pipetrace
