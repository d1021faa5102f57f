#include "runtime/control/control_peers.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <random>

#include "runtime/control/steady_time.h"
#include "trace/error.h"
#include "trace/text/ranks_text.h"

namespace pipetrace {

namespace {

constexpr std::size_t kMostStrangers = 1024;
constexpr std::size_t kLongestHello = 256;

std::string randomToken() {
  std::random_device random;
  std::array<char, 20> text{};
  std::snprintf(text.data(), text.size(), "%08x%08x", random(), random());
  return text.data();
}

std::string keyOf(int rank) { return "control/" + std::to_string(rank); }

// "<port> <token> <host>": a host may hold any character but a blank.
struct PeerAddress {
  std::string host;
  int port = 0;
  std::string token;
};

std::string addressText(const PeerAddress& address) {
  return std::to_string(address.port) + " " + address.token + " " + address.host;
}

PeerAddress addressIn(const std::string& text) {
  const std::size_t first = text.find(' ');
  const std::size_t second = first == std::string::npos ? first : text.find(' ', first + 1);
  if (second == std::string::npos) throw Error("\"" + text + "\" is no address of a rank");
  PeerAddress address;
  address.port = std::atoi(text.c_str());
  address.token = text.substr(first + 1, second - first - 1);
  address.host = text.substr(second + 1);
  return address;
}

}  // namespace

ControlPeers::ControlPeers(int rank, int worldSize, const std::string& host, KeyValue& store,
                           Nanoseconds timeout)
    : rank_(rank),
      token_(randomToken()),
      peers_(static_cast<std::size_t>(worldSize)),
      isKnown_(static_cast<std::size_t>(worldSize), false),
      missing_(worldSize - 1) {
  isKnown_[static_cast<std::size_t>(rank)] = true;
  if (worldSize == 1) return;
  const Nanoseconds end = steadyTime() + timeout;
  listener_ = listenAt(host);
  store.set(keyOf(rank), addressText({.host = host, .port = portOf(listener_), .token = token_}));
  for (int peer = 0; peer < rank; ++peer) {
    const auto left = [&] { return std::max<Nanoseconds>(end - steadyTime(), kNsPerMs); };
    try {
      const PeerAddress address = addressIn(store.get(keyOf(peer), left()));
      ControlSocket& socket = peers_[static_cast<std::size_t>(peer)];
      socket = ControlSocket(connectTo(address.host, address.port, left()));
      ControlMessage hello;
      hello.word = ControlWord::kHello;
      hello.rank = rank;
      hello.token = address.token;
      socket.send(encode(hello));
    } catch (const std::exception& e) {
      throw Error("rank " + std::to_string(peer) + " did not come: " + e.what());
    }
    isKnown_[static_cast<std::size_t>(peer)] = true;
    --missing_;
  }
}

std::string ControlPeers::missingRanks() const {
  std::vector<int> missing;
  for (std::size_t rank = 0; rank < isKnown_.size(); ++rank) {
    if (!isKnown_[rank]) missing.push_back(static_cast<int>(rank));
  }
  return ranksText(missing);
}

void ControlPeers::broadcast(const ControlMessage& message, bool mayWait) {
  const std::string bytes = encode(message);
  for (ControlSocket& peer : peers_) {
    if (!mayWait || !peer.hasUnsent()) peer.send(bytes);
  }
}

void ControlPeers::wait(int wake, Nanoseconds timeout, bool forMessages) {
  waiting_.clear();
  const auto add = [&](int fd, int events) {
    waiting_.push_back({.fd = fd, .events = static_cast<short>(events), .revents = 0});
  };
  add(wake, POLLIN);
  if (listener_.isOpen()) add(listener_.get(), POLLIN);
  for (const ControlSocket& stranger : strangers_) add(stranger.fd(), POLLIN);
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
  acceptNew();
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
    peers_[static_cast<std::size_t>(rank)].close();
    closed(rank);
  }
}

void ControlPeers::acceptNew() {
  if (!listener_.isOpen()) return;
  while (strangers_.size() < kMostStrangers) {
    OwnedFd fd = acceptFrom(listener_);
    if (!fd.isOpen()) break;
    strangers_.emplace_back(std::move(fd));
  }
  std::erase_if(strangers_, [&](ControlSocket& stranger) { return greet(stranger); });
  if (isComplete()) {
    strangers_.clear();
    listener_.reset();
  }
}

// Whether the stranger became a peer, or is none.
bool ControlPeers::greet(ControlSocket& stranger) {
  const bool isOpen = stranger.receive();
  if (stranger.received().size() > kLongestHello && !isOpen) return true;
  std::optional<ControlMessage> hello;
  try {
    hello = takeMessage(stranger.received());
  } catch (const Error&) {
    return true;
  }
  if (!hello) return !isOpen;
  const bool isOurs = hello->word == ControlWord::kHello && hello->token == token_ &&
                      hello->rank > rank_ && hello->rank < static_cast<int>(peers_.size());
  if (!isOurs) return true;
  const auto rank = static_cast<std::size_t>(hello->rank);
  if (isKnown_[rank]) return true;
  peers_[rank] = std::move(stranger);
  isKnown_[rank] = true;
  --missing_;
  return true;
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
