#pragma once

#include <cstdint>
#include <vector>

#include "runtime/checkpoint/block_state.h"

namespace pipetrace {

/// Copies of blocks' tensors in the host's memory, that stay as they are while training goes on.
/// The next take() uses the same memory again, so it costs a copy and no new pages.
///
/// Threads: one at a time.
class Snapshot {
 public:
  /// Copies all tensors. Waits for the device that has them. It forgets all that it had before;
  /// memory that nothing needs any more is freed. Tensors are copied one by one, so that parameters
  /// that share memory have copies of their own.
  void take(const std::vector<BlockState>& states);

  const std::vector<BlockState>& states() const { return states_; }
  /// Its memory, in bytes: as much as the tensors have. With Adam that is three times the weights.
  std::int64_t bytes() const;

 private:
  std::vector<BlockState> states_;
};

}  // namespace pipetrace
