#pragma once

#include <memory>

#include "runtime/transport/forwarding_transport.h"

namespace pipetrace {

/// A rank's transport for one of the plans that the ranks run in turn: its lanes have the plan's
/// number (LaneName::program). The clock of the inner transport stays what it is.
class ProgramTransport : public ForwardingTransport {
 public:
  /// `inner` must outlive it.
  ProgramTransport(Transport& inner, int program) : ForwardingTransport(inner), program_(program) {}

  std::unique_ptr<SendLane<Message>> openSend(int to, const LaneName& name,
                                              std::size_t messages) override {
    return inner().openSend(to, named(name), messages);
  }
  std::unique_ptr<ReceiveLane<Message>> openReceive(int from, const LaneName& name,
                                                    std::size_t messages) override {
    return inner().openReceive(from, named(name), messages);
  }

 private:
  LaneName named(LaneName name) const {
    name.program = program_;
    return name;
  }

  const int program_;
};

}  // namespace pipetrace
