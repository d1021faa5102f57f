#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "schedule/costs.h"
#include "schedule/plan.h"

namespace pipetrace {

/// How far squeeze() may depart from the order that it is given.
struct SqueezeOptions {
  /// By rank: the most memory that activations may take, in the units of Costs.
  std::vector<std::int64_t> limits;
  /// Whether a forward that has its input may overtake jobs that still wait for theirs, provided
  /// that enough memory stays free for these.
  bool overtake = true;
  /// Whether an input half that can run takes precedence over every forward.
  bool inputFirst = false;
  /// A weight half begins in a gap only if the gap is known to last at least this many hundredths
  /// of the half's length.
  int fillPercent = 0;
};

/// Makes a plan of an order of forwards and input halves. Each job runs as soon as its rank is
/// free, its input there and memory left. Weight halves, oldest first, fill the gaps or make room.
/// This is the squeezing step of "Pipeline Parallelism with Controllable Memory" together with its
/// reordering of warm-up and cool-down.
///
/// `order` holds each rank's forwards and input halves, per stage in order of micro-batches. An
/// input half always overtakes forwards that cannot run yet. Returns nothing if the limits are too
/// low for this order. Linear in the number of jobs, times the logarithm of the ranks.
std::optional<Plan> squeeze(const Plan& order, const Costs& costs, const SqueezeOptions& options);

}  // namespace pipetrace
