#pragma once

#include <memory>

#include "runtime/starting_ranks/process_env.h"

namespace pipetrace::bench {

/// Gloo's barrier over all ranks, as torch.distributed.barrier() runs it. It has a store and
/// connections of its own, so it needs nothing of the runtime's transport.
class Barrier {
 public:
  /// Rank 0 serves the store at `port` of MASTER_ADDR. Throws Error if the ranks do not meet.
  Barrier(const ProcessEnv& env, int port);
  ~Barrier();
  Barrier(const Barrier&) = delete;
  Barrier& operator=(const Barrier&) = delete;

  /// Returns once all ranks are here.
  void wait();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace pipetrace::bench
