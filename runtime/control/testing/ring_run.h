#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "trace/nanoseconds.h"

namespace pipetrace::testing {

/// How one rank of a ring ended.
struct RingEnd {
  std::string ending;  ///< "exited with status 3", "was killed by signal 9 (SIGKILL)"
  std::string output;
  Nanoseconds after = 0;  ///< since the fault; since the start without one
};

/// Ranks of the program control_ring as processes on this host.
class RingRun {
 public:
  /// Starts them. `options` are those of the program.
  RingRun(int ranks, const std::vector<std::string>& options);
  ~RingRun();
  RingRun(const RingRun&) = delete;
  RingRun& operator=(const RingRun&) = delete;

  /// Waits until all ranks are connected. Throws Error if that takes longer than `limit`. Returns
  /// how long it took since the start.
  Nanoseconds awaitConnected(Nanoseconds limit = 30 * kNsPerSecond);
  /// The memory of all ranks together that no other process shares with them, in bytes.
  std::int64_t ownMemory() const;
  /// Sends a signal to a rank; times count from here.
  void signal(int rank, int number);
  /// Waits for all ranks but `except`; those that run after `limit` are killed, so they ended by
  /// signal 9.
  std::vector<RingEnd> await(Nanoseconds limit, int except = -1);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace pipetrace::testing
