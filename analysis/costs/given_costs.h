#pragma once

#include <cstdint>
#include <vector>

#include "schedule/costs.h"

namespace pipetrace {

/// Costs as people give them, by flags or in a file. What is missing follows from the rest
/// (completeCosts).
struct GivenCosts {
  /// Nothing: not given. One value: of every virtual stage. Else one for each.
  using Values = std::vector<std::int64_t>;

  Values forward;  ///< times in ns
  Values backward;
  Values backwardInput;
  Values backwardWeight;
  Values forwardBackward;
  Values activation;  ///< memory in bytes
  Values freedByInput;
  Values weights;
  Values message;
  Nanoseconds transfer = 0;
  Nanoseconds lr = 0;
  Nanoseconds optimizer = 0;
  double bandwidth = 0;  ///< bytes a second

  /// Whether memory is known in bytes; else Costs count activations.
  bool hasMemory() const { return !activation.empty() || !weights.empty(); }
};

/// The costs of `numStages` virtual stages. Not given:
/// - forward: 1 ms;
/// - backward: the sum of its halves if both are given, else twice the forward;
/// - halves of the backward: the rest of it if the other half is given, else half each;
/// - a fused pair: its two parts one after the other;
/// - activation: 1, the others 0.
///
/// Throws Error for values for another number of stages, a half longer than its backward, memory
/// that the input half gives back without having been taken, weights without activations, a
/// bandwidth without messages, and a message that takes more than two hours on its link.
Costs completeCosts(const GivenCosts& given, int numStages);

/// What completeCosts() makes these costs of again; values that all stages share are given once.
GivenCosts givenCosts(const Costs& costs);

}  // namespace pipetrace
