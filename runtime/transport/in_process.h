#pragma once

#include <memory>

#include "runtime/transport/transport.h"

namespace pipetrace {

/// The ranks of one pipeline as threads of one process: mailboxes without a bound. Tensors are
/// handed over, not copied.
class InProcessHub {
 public:
  explicit InProcessHub(int worldSize);
  ~InProcessHub();
  InProcessHub(const InProcessHub&) = delete;
  InProcessHub& operator=(const InProcessHub&) = delete;

  /// The transport of one rank; the hub must outlive it. A transport that is destroyed without
  /// finish() counts as failed, so that the peers which wait for it wake up.
  std::unique_ptr<Transport> connect(int rank);

 private:
  friend class InProcessTransport;
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace pipetrace
