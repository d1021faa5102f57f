#include "trace/sockets/pending_connections.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "trace/sockets/tcp.h"

namespace pipetrace {

namespace {

// Other work goes on in between where many come.
constexpr int kMostAtOnce = 256;

}  // namespace

std::vector<PendingConnections::Admitted> PendingConnections::admit(const OwnedFd& listener,
                                                                    Nanoseconds now,
                                                                    const Judge& judge) {
  std::vector<Admitted> admitted;
  const auto isDone = [&](PendingConnection& one) {
    const Answer answer = now >= one.end ? Answer::kRefuse : judged(one, judge);
    if (answer == Answer::kAdmit) {
      admitted.push_back({.fd = std::move(one.fd), .received = std::move(one.received)});
    }
    return answer != Answer::kWait;
  };
  std::erase_if(waiting_, isDone);
  for (int i = 0; i < kMostAtOnce; ++i) {
    PendingConnection one{
        .fd = acceptFrom(listener), .received = {}, .end = now + limits_.patience};
    if (!one.fd.isOpen()) {
      // Without a free descriptor nobody could come any more, nor would poll() wait.
      if (errno == EMFILE || errno == ENFILE) waiting_.clear();
      break;
    }
    if (isDone(one)) continue;
    if (waiting_.size() >= limits_.most) waiting_.erase(waiting_.begin());
    waiting_.push_back(std::move(one));
  }
  return admitted;
}

PendingConnections::Answer PendingConnections::judged(PendingConnection& one,
                                                      const Judge& judge) const {
  const std::size_t had = one.received.size();
  one.received.resize(limits_.longest);
  ssize_t size = 0;
  do {
    size = recv(one.fd.get(), one.received.data() + had, limits_.longest - had, MSG_DONTWAIT);
  } while (size < 0 && errno == EINTR);
  const bool hasEnded = size == 0 || (size < 0 && errno != EAGAIN);
  one.received.resize(had + static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  const Answer answer = judge(one.received);
  if (answer != Answer::kWait) return answer;
  return hasEnded || one.received.size() >= limits_.longest ? Answer::kRefuse : Answer::kWait;
}

void PendingConnections::abandon() noexcept {
  for (PendingConnection& one : waiting_) one.fd.reset();
}

void PendingConnections::addTo(std::vector<pollfd>& waiting) const {
  for (const PendingConnection& one : waiting_) {
    waiting.push_back({.fd = one.fd.get(), .events = POLLIN, .revents = 0});
  }
}

}  // namespace pipetrace
