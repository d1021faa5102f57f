#pragma once

#include <cstdint>
#include <vector>

#include "schedule/action.h"
#include "schedule/costs.h"

namespace pipetrace {

/// Costs as people give them, by flags or in a file. completeCosts() derives the missing ones.
struct GivenCosts {
  /// Empty: not given. One value: for all virtual stages. Else one value for each.
  using Values = std::vector<std::int64_t>;

  Values forward;  ///< times in ns
  Values backward;
  Values backwardInput;
  Values backwardWeight;
  Values forwardBackward;
  Values recompute;
  Values reduction;
  Values activation;  ///< memory in bytes
  Values freedByInput;
  Values recomputed;
  Values working;
  Values weights;
  Values message;
  Values blocks;  ///< numbers
  Nanoseconds transfer = 0;
  Nanoseconds lr = 0;
  Nanoseconds optimizer = 0;
  Nanoseconds scalarAllReduce = 0;
  double bandwidth = 0;  ///< bytes a second

  /// A compute action that takes another time than others of its stage, in every step, or a
  /// data-parallel action that takes any.
  struct JobTime {
    Action action;
    Nanoseconds time = 0;
  };
  std::vector<JobTime> jobs;
  /// Links whose messages take another time than `transfer`. No costs file has them.
  std::vector<Faults::Link> links;

  /// Whether memory is in bytes; else Costs count activations.
  bool hasMemory() const { return !activation.empty() || !weights.empty(); }
};

/// The costs of `numStages` virtual stages. These values replace missing ones:
/// - forward: 1 ms;
/// - backward: the sum of its halves if both are given, else twice the forward;
/// - halves of the backward: the rest of it if the other half is given, else half each;
/// - a fused pair: its two parts one after the other;
/// - activation: 1; all others: 0.
///
/// Jobs with times of their own become Costs::faults: as much longer or shorter than their stage's.
/// Links do, too.
///
/// Throws Error for
/// - values for another number of stages, and jobs of stages that there are not;
/// - a half longer than its backward;
/// - an input half that frees more memory than the forward took, or a recompute that takes more;
/// - weights without activations, or a bandwidth without messages;
/// - a message that takes more than two hours on its link.
Costs completeCosts(const GivenCosts& given, int numStages);

/// The shortest GivenCosts that completeCosts() turns into `costs`, without their faults: a value
/// that all stages share is given once.
GivenCosts givenCosts(const Costs& costs);

}  // namespace pipetrace
