#include "runtime/control/start/connect_ranks.h"

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <thread>

#include "runtime/control/steady_time.h"
#include "runtime/control/verdict/control_message.h"
#include "trace/error.h"
#include "trace/sockets/pending_connections.h"
#include "trace/sockets/tcp.h"
#include "trace/text/ranks_text.h"

namespace pipetrace {

namespace {

constexpr Nanoseconds kLookForFailures = 200 * kNsPerMs;
constexpr int kShortPauseMs = 20;
constexpr int kLongestPauseMs = 100;
constexpr const char* kAllHaveMet = "control/all";

std::string addressKeyOf(int rank) { return "control/" + std::to_string(rank); }
std::string nameForPeople(int rank) { return "rank " + std::to_string(rank); }

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

std::string hello(int rank, const std::string& token) {
  ControlMessage message;
  message.word = ControlWord::kHello;
  message.rank = rank;
  message.token = token;
  return encode(message);
}

class Meeting {
 public:
  Meeting(const MeetingOptions& options, RunStart& start)
      : options_(options),
        start_(start),
        token_(randomToken()),
        peers_(static_cast<std::size_t>(options.worldSize)) {}

  std::vector<ControlSocket> run();

 private:
  struct Peer {
    ControlSocket socket;
    bool hasMet = false;  // it knows of this connection, too
  };

  bool isNeighbour(int rank) const {
    return std::binary_search(options_.neighbours.begin(), options_.neighbours.end(), rank);
  }
  Peer& peerOf(int rank) { return peers_[static_cast<std::size_t>(rank)]; }
  void connect(int rank);
  void admitNewcomers();
  PendingConnections::Answer judge(std::string& received, int& rank) const;
  void lookAt(int rank);
  void lookForWelcome(int rank, bool isOpen);
  bool awaitsSomebody() const;
  std::string missing() const;
  void wait();
  void awaitOthers();

  const MeetingOptions options_;
  RunStart& start_;
  const std::string token_;
  OwnedFd listener_;
  PendingConnections newcomers_;
  std::vector<Peer> peers_;  // by rank
  std::vector<pollfd> waiting_;
};

std::vector<ControlSocket> Meeting::run() {
  std::vector<ControlSocket> sockets;
  if (options_.worldSize > 1) {
    try {
      listener_ = listenAt(options_.host);
    } catch (const Error& e) {
      start_.fail(nameForPeople(options_.rank) + " cannot be reached: " + e.what());
    }
    start_.store().set(
        addressKeyOf(options_.rank),
        addressText({.host = options_.host, .port = portOf(listener_), .token = token_}));
    for (const int rank : options_.neighbours) {
      if (rank < options_.rank) connect(rank);
    }
    Nanoseconds looked = steadyTime();
    while (awaitsSomebody()) {
      wait();
      admitNewcomers();
      for (const int rank : options_.neighbours) lookAt(rank);
      if (steadyTime() - looked < kLookForFailures && start_.left() > 0) continue;
      start_.check([this] { return missing(); });
      looked = steadyTime();
    }
    listener_.reset();
    awaitOthers();
  }
  for (Peer& peer : peers_) sockets.push_back(std::move(peer.socket));
  return sockets;
}

void Meeting::connect(int rank) {
  const std::string text =
      start_.await(addressKeyOf(rank), [&] { return nameForPeople(rank) + " did not come"; });
  try {
    const PeerAddress address = addressIn(text);
    Peer& peer = peerOf(rank);
    peer.socket = ControlSocket(connectTo(address.host, address.port, options_.linkTimeout));
    peer.socket.send(hello(options_.rank, address.token));
  } catch (const Error& e) {
    start_.fail(nameForPeople(options_.rank) + " cannot connect to " + nameForPeople(rank) + ": " +
                e.what());
  }
}

void Meeting::admitNewcomers() {
  int rank = -1;
  const auto judge = [&](std::string& received) { return this->judge(received, rank); };
  // The judge is asked about one after the other, so the ranks have the order of those admitted.
  std::vector<int> ranks;
  const auto noting = [&](std::string& received) {
    const PendingConnections::Answer answer = judge(received);
    if (answer == PendingConnections::Answer::kAdmit) ranks.push_back(rank);
    return answer;
  };
  std::vector<PendingConnections::Admitted> admitted =
      newcomers_.admit(listener_, steadyTime(), noting);
  for (std::size_t i = 0; i < admitted.size(); ++i) {
    Peer& peer = peerOf(ranks[i]);
    if (peer.hasMet) continue;  // a rank that came twice at once
    peer.socket = ControlSocket(std::move(admitted[i].fd), std::move(admitted[i].received));
    peer.socket.send(hello(options_.rank, {}));
    peer.hasMet = true;
  }
}

/// `rank`: of one that is admitted.
PendingConnections::Answer Meeting::judge(std::string& received, int& rank) const {
  std::optional<ControlMessage> message;
  try {
    message = takeMessage(received);
  } catch (const Error&) {
    return PendingConnections::Answer::kRefuse;
  }
  if (!message) return PendingConnections::Answer::kWait;
  const bool isOurs = message->word == ControlWord::kHello && message->token == token_ &&
                      message->rank > options_.rank && isNeighbour(message->rank) &&
                      !peers_[static_cast<std::size_t>(message->rank)].hasMet;
  if (!isOurs) return PendingConnections::Answer::kRefuse;
  rank = message->rank;
  return PendingConnections::Answer::kAdmit;
}

void Meeting::lookAt(int rank) {
  Peer& peer = peerOf(rank);
  if (!peer.socket.isOpen()) return;
  const bool isOpen = peer.socket.receive();
  if (!peer.hasMet) {
    lookForWelcome(rank, isOpen);
  } else if (!isOpen && !start_.store().has(kAllHaveMet)) {
    start_.fail(nameForPeople(rank) + " ended while the ranks came together");
  }
}

/// A rank connects again when its connection ends before the other side has taken it: too many may
/// have come there at once.
void Meeting::lookForWelcome(int rank, bool isOpen) {
  Peer& peer = peerOf(rank);
  try {
    const auto message = takeMessage(peer.socket.received());
    peer.hasMet = message && message->word == ControlWord::kHello && message->rank == rank;
  } catch (const Error&) {
    isOpen = false;
  }
  if (peer.hasMet || isOpen) return;
  std::this_thread::sleep_for(std::chrono::milliseconds(kShortPauseMs));
  start_.check([this] { return missing(); });
  connect(rank);
}

bool Meeting::awaitsSomebody() const {
  return std::any_of(options_.neighbours.begin(), options_.neighbours.end(),
                     [&](int rank) { return !peers_[static_cast<std::size_t>(rank)].hasMet; });
}

std::string Meeting::missing() const {
  std::vector<int> ranks;
  for (const int rank : options_.neighbours) {
    if (!peers_[static_cast<std::size_t>(rank)].hasMet) ranks.push_back(rank);
  }
  return ranksText(ranks) + " did not connect";
}

void Meeting::wait() {
  waiting_.clear();
  waiting_.push_back({.fd = listener_.get(), .events = POLLIN, .revents = 0});
  newcomers_.addTo(waiting_);
  for (const Peer& peer : peers_) {
    if (peer.hasMet || !peer.socket.isOpen()) continue;
    waiting_.push_back({.fd = peer.socket.fd(), .events = POLLIN, .revents = 0});
  }
  poll(waiting_.data(), waiting_.size(), static_cast<int>(kLookForFailures / kNsPerMs));
}

/// Until all have met: a rank that cannot reach another one ends the start for all.
void Meeting::awaitOthers() {
  KeyValue& store = start_.store();
  if (store.count("control/met") == options_.worldSize) store.set(kAllHaveMet, "met");
  for (int pause = 1; !store.has(kAllHaveMet); pause = std::min(2 * pause, kLongestPauseMs)) {
    for (const int rank : options_.neighbours) lookAt(rank);
    start_.check([] { return "not all ranks could be connected"; });
    std::this_thread::sleep_for(std::chrono::milliseconds(pause));
  }
}

}  // namespace

std::vector<ControlSocket> meetRanks(const MeetingOptions& options, RunStart& start) {
  return Meeting(options, start).run();
}

}  // namespace pipetrace
