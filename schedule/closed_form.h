#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "schedule/costs.h"

namespace pipetrace {

struct PlanSize;

/// The figures of a schedule by theory, without its plan.
struct ClosedForm {
  Nanoseconds length = 0;     ///< of a step whose ranks start together
  std::vector<int> peakLive;  ///< by rank: most activations of stages held at once
};

/// The formula of a schedule is for this: a size, and the times of every stage.
struct FormInput {
  int p = 1;           ///< ranks
  int m = 1;           ///< micro-batches
  int v = 1;           ///< chunks per rank
  Nanoseconds f = 0;   ///< forward
  Nanoseconds b = 0;   ///< whole backward
  Nanoseconds i = 0;   ///< its input half
  Nanoseconds w = 0;   ///< its weight half
  Nanoseconds fb = 0;  ///< fused pair
  Nanoseconds r = 0;   ///< recompute

  bool hasEqualHalves() const { return f == i && f == w; }
};

/// For equal stages and free transfers, without lr and optimizer. Takes `name` and `size` as
/// buildSchedule() does, and throws Error as it does. Returns nothing where no formula is known for
/// that size and those times. The formula stands beside the schedule's order, in
/// schedule/builders/.
std::optional<ClosedForm> closedForm(std::string_view name, const PlanSize& size,
                                     const StageCosts& each);

/// `peak` gives the peak of a rank.
template <typename Peak>
ClosedForm formOf(const FormInput& given, Nanoseconds length, Peak peak) {
  ClosedForm closed{.length = length};
  for (int s = 0; s < given.p; ++s) closed.peakLive.push_back(peak(s));
  return closed;
}

/// The length of a step with a flush: ((v - 1) max(m, p) + m + p - 1) (F + B) + m R.
Nanoseconds flushedLength(const FormInput& given);

}  // namespace pipetrace
