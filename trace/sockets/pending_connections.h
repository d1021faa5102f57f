#pragma once

#include <poll.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "trace/nanoseconds.h"
#include "trace/sockets/owned_fd.h"

namespace pipetrace {

/// Connections that have not said yet who they are, so they may be anybody's: few are kept, little
/// of what they send, and only for a while. Where too many come at once, the newest are kept.
///
/// Threads: one at a time.
class PendingConnections {
 public:
  struct Limits {
    std::size_t most = 128;     ///< connections
    std::size_t longest = 256;  ///< bytes that one may send before it is admitted
    Nanoseconds patience = 5 * kNsPerSecond;
  };
  enum class Answer : std::uint8_t { kWait, kRefuse, kAdmit };
  /// Judges one by what it has sent so far. One that has sent `longest` bytes and shall still wait
  /// is refused.
  using Judge = std::function<Answer(std::string& received)>;
  struct Admitted {
    OwnedFd fd;
    std::string received;  ///< as the judge left it
  };

  PendingConnections() : PendingConnections(Limits{}) {}
  explicit PendingConnections(Limits limits) : limits_(limits) {
    waiting_.reserve(limits.most + 1);
  }

  /// Accepts whom the listener has, judges all, and gives out those that are admitted. Others are
  /// closed. `now` is of any clock that does not go back.
  std::vector<Admitted> admit(const OwnedFd& listener, Nanoseconds now, const Judge& judge);

  /// Adds all to what poll() waits for.
  void addTo(std::vector<pollfd>& waiting) const;
  std::size_t size() const { return waiting_.size(); }
  void clear() { waiting_.clear(); }
  /// In a forked child, while the thread that uses this is the parent's and may be in any call:
  /// closes all connections, and touches nothing else.
  void abandon() noexcept;

 private:
  struct PendingConnection {
    OwnedFd fd;
    std::string received;
    Nanoseconds end = 0;
  };
  Answer judged(PendingConnection& one, const Judge& judge) const;

  Limits limits_;
  std::vector<PendingConnection> waiting_;  // the oldest first; its memory stays where it is
};

}  // namespace pipetrace
