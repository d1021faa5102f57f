#pragma once

#include <cstdint>

#include "schedule/costs.h"
#include "schedule/plan.h"

namespace pipetrace {

struct AutoOptions {
  /// The most memory (units of Costs) that any rank may hold at any time; 0: no limit.
  std::int64_t memoryLimit = 0;
};

/// The shortest plan that is found for these costs within the limit. It is never longer than that
/// of any synchronous builder of as many ranks, micro-batches and chunks that keeps to the limit.
/// Its name says what it came from. Among plans of that length, found or built, it returns the one
/// that holds least (large plans aside). `costs` has the ranks * chunks virtual stages. The same
/// input gives the same plan.
///
/// Throws Error when the limit is too low for one micro-batch after the other. The message names
/// the least memory that would do.
Plan autoSchedule(int ranks, int microBatches, int chunks, const Costs& costs,
                  const AutoOptions& options = {});

}  // namespace pipetrace
