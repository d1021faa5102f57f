#pragma once

#include <vector>

namespace pipetrace {

/// A tensor that one stage makes and a later one needs, for each micro-batch. It goes there
/// directly. Its gradient comes back the same way.
struct TensorRoute {
  int from = 0;  ///< stages, from < to
  int to = 0;
  bool hasGradient = true;

  bool operator==(const TensorRoute&) const = default;
};

/// The routes of a pipeline. Several may lead from one stage to the same other one. There is
/// one with a gradient from each stage to the next. The first of these is the plan's own message
/// (PlannedMessage). It may be empty, where the next stage needs nothing.
using TensorRoutes = std::vector<TensorRoute>;

/// One tensor from each stage to the next.
inline TensorRoutes chainRoutes(int numStages) {
  TensorRoutes routes;
  for (int stage = 0; stage + 1 < numStages; ++stage) {
    routes.push_back({.from = stage, .to = stage + 1});
  }
  return routes;
}

}  // namespace pipetrace
