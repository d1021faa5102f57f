#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/control/control_channel.h"
#include "runtime/transport/transport.h"

namespace pipetrace {

/// Numbers and tensors that ranks tell each other between steps. They are in the host's memory, and
/// no plan has them. Lanes are opened when they are needed first.
///
/// Threads: the rank's own. All ranks call the same functions in the same order.
class HostGroup {
 public:
  /// Both must outlive it.
  HostGroup(Transport& transport, ControlChannel& control);
  ~HostGroup();

  /// All ranks have the numbers of rank `from` then.
  void broadcast(int from, std::vector<double>& numbers);
  /// All ranks have the tensors of rank `from` then, in any number.
  void broadcast(int from, std::vector<at::Tensor>& tensors);
  /// Rank `to` gets the tensors of each of the ranks `from`, in their order; others get none. A
  /// rank's own are among them.
  std::vector<std::vector<at::Tensor>> gather(const std::vector<int>& from, int to,
                                              const std::vector<at::Tensor>& tensors);

 private:
  struct Lane;
  Lane& laneTo(int peer, bool sends);
  void send(int to, const at::Tensor& tensor);
  at::Tensor receive(int from);
  void sendAll(int to, const std::vector<at::Tensor>& tensors);
  std::vector<at::Tensor> receiveAll(int from);

  Transport& transport_;
  ControlChannel& control_;
  std::map<std::pair<int, bool>, std::unique_ptr<Lane>> lanes_;  // by peer, and whether it sends
};

}  // namespace pipetrace
