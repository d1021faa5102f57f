#pragma once

#include <cstdint>
#include <memory>
#include <torch/csrc/distributed/c10d/Backend.hpp>

namespace pipetrace::testing {

/// Backends of c10d for ranks that are threads of this process, on the test device. They move
/// messages as NCCL does on one communicator:
///   - a rank's operations run strictly in their order, each on a stream of the backend's own;
///   - an operation begins when the other end has come to the one that belongs to it;
///   - Work::wait() blocks the current stream, and not the host.
///
/// Mistakes that NCCL answers with silence or wrong numbers are errors here, for all ranks. They
/// are ranks that wait for each other in a circle, and two ends with different tags or shapes. So
/// is an operation without startCoalescing() and endCoalescing().
///
/// Threads: any.
class LineHub {
 public:
  explicit LineHub(int ranks);

  /// The backend of one rank. abort() ends the waits of that rank alone.
  c10::intrusive_ptr<c10d::Backend> connect(int rank) const;

  /// Messages that were moved so far.
  std::int64_t moved() const;

  struct State;

 private:
  const std::shared_ptr<State> state_;
};

}  // namespace pipetrace::testing
