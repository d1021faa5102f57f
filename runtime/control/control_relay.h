#pragma once

#include <functional>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "runtime/control/start/links.h"
#include "runtime/control/verdict/control_message.h"

namespace pipetrace {

/// Passes on what a rank of a tree (ControlLinks) hears. Statuses go up to rank 0. A word that ends
/// the run goes over all connections, once, so that it comes through as long as any way is left.
///
/// Knows no sockets. Threads: one at a time.
class ControlRelay {
 public:
  /// Sends a message to a neighbour.
  using Send = std::function<void(int to, const ControlMessage& message)>;

  ControlRelay(int rank, ControlLinks links, Send send);

  /// A message came from a neighbour. Returns which rank said it, and passes it on where it has to
  /// go; -1: it is known already. In `message.rank` ranks name themselves.
  int passOn(int neighbour, const ControlMessage& message);
  /// Sends this rank's own word, but for its status, to those who need it.
  void tell(ControlMessage message);
  /// Sends this rank's own status to all neighbours, and what came from below to the parent.
  void beat(ControlMessage status);

 private:
  bool isNew(const ControlMessage& message);
  bool isChild(int rank) const;
  void flood(const ControlMessage& message, int except);

  const int rank_;
  const ControlLinks links_;
  const Send send_;
  std::set<std::pair<ControlWord, std::pair<CauseKind, int>>> known_;
  std::map<int, ControlMessage> below_;  // the latest statuses, by rank, for the parent
};

}  // namespace pipetrace
