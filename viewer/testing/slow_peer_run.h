#pragma once

#include "analysis/testing/hybrid_run.h"

namespace pipetrace {

/// Two stages of two tensor-parallel ranks, of which rank 1 takes 1.25 times as long as rank 0. A
/// forward is two layers of 5 ms, each with an all-reduce that moves for 0.3 ms; a backward takes
/// twice as long. So rank 0 waits inside each forward for 2.5 ms, inside each backward for 5 ms,
/// and nobody else does.
inline HybridRun runWithASlowPeer() {
  HybridRun run;
  run.kernel = [](const HybridRun::Kernel& kernel, Nanoseconds usual) {
    return kernel.rank == 1 ? usual * 5 / 4 : usual;
  };
  return run;
}

}  // namespace pipetrace
