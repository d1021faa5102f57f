#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/control/control_channel.h"
#include "runtime/transport/transport.h"

namespace pipetrace {

/// The ranks of one pipeline as threads of one process: the thread that sends a message puts it
/// where the thread that needs it looks. Tensors are handed over, not copied.
class InProcessHub {
 public:
  explicit InProcessHub(int worldSize);
  ~InProcessHub();
  InProcessHub(const InProcessHub&) = delete;
  InProcessHub& operator=(const InProcessHub&) = delete;

  /// The transport of one rank; the hub must outlive it. A transport that is destroyed without
  /// finish() counts as failed, so that the peers which wait for it wake up.
  std::unique_ptr<Transport> connect(int rank);

  /// Messages that one thread handed to another, so far.
  std::int64_t handOvers() const;

 private:
  friend class InProcessTransport;
  struct State;
  std::unique_ptr<State> state_;
};

/// The control channels of the ranks of a hub, by rank. `options` is for all of them, and needs no
/// rank, world size and onFailure: when the run fails, the transports, which must outlive the
/// channels, are aborted.
std::vector<std::unique_ptr<ControlChannel>> controlInProcess(
    const ControlOptions& options, const std::vector<Transport*>& transports);

}  // namespace pipetrace
