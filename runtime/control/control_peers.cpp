#include "runtime/control/control_peers.h"

#include <algorithm>
#include <string>

#include "runtime/control/steady_time.h"
#include "trace/error.h"

namespace pipetrace {

void ControlPeers::broadcast(const ControlMessage& message, bool mayWait) {
  const std::string bytes = encode(message);
  for (ControlSocket& peer : peers_) {
    if (!mayWait || !peer.hasUnsent()) peer.send(bytes);
  }
}

void ControlPeers::send(int rank, const ControlMessage& message) {
  peers_[static_cast<std::size_t>(rank)].send(encode(message));
}

void ControlPeers::wait(int wake, Nanoseconds timeout, bool forMessages) {
  waiting_.clear();
  const auto add = [&](int fd, int events) {
    waiting_.push_back({.fd = fd, .events = static_cast<short>(events), .revents = 0});
  };
  add(wake, POLLIN);
  for (const ControlSocket& peer : peers_) {
    if (!peer.isOpen()) continue;
    add(peer.fd(), POLLRDHUP | (forMessages ? POLLIN : 0) | (peer.hasUnsent() ? POLLOUT : 0));
  }
  const Nanoseconds whole = std::max<Nanoseconds>(timeout + kNsPerMs - 1, 0) / kNsPerMs;
  poll(waiting_.data(), waiting_.size(), static_cast<int>(whole));
}

void ControlPeers::receive(
    const std::function<void(int rank, const ControlMessage& message)>& heard,
    const std::function<void(int rank)>& closed) {
  std::vector<int> ended;
  for (int rank = 0; rank < static_cast<int>(peers_.size()); ++rank) {
    ControlSocket& peer = peers_[static_cast<std::size_t>(rank)];
    if (!peer.isOpen()) continue;
    peer.flush();
    bool isOpen = peer.receive();
    try {
      while (const auto message = takeMessage(peer.received())) heard(rank, *message);
    } catch (const Error&) {
      isOpen = false;  // no rank of ours any more
    }
    if (!isOpen) ended.push_back(rank);
  }
  for (const int rank : ended) {
    ControlSocket& peer = peers_[static_cast<std::size_t>(rank)];
    peer.close();
    if (!peer.isCutOff()) closed(rank);
  }
}

void ControlPeers::close(Nanoseconds timeout) {
  const Nanoseconds end = steadyTime() + timeout;
  // Bytes that were not read would make the system throw away what the other side has not read.
  for (ControlSocket& peer : peers_) {
    peer.flush();
    if (!peer.hasUnsent()) peer.endSending();
  }
  for (ControlSocket& peer : peers_) {
    while (peer.isOpen() && peer.receive() && steadyTime() < end) {
      pollfd waiting{.fd = peer.fd(), .events = POLLIN, .revents = 0};
      poll(&waiting, 1, 5);
      peer.flush();
    }
    peer.close();
  }
}

}  // namespace pipetrace
