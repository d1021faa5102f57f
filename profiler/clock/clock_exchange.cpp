#include "profiler/clock/clock_exchange.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>

#include "profiler/clock/wall_clock.h"
#include "trace/error.h"
#include "trace/sockets/owned_fd.h"
#include "trace/sockets/pending_connections.h"
#include "trace/sockets/tcp.h"

namespace pipetrace {
namespace {

// More than any number of ranks that ask one host.
constexpr std::size_t kMostClients = 4096;
// A request is one byte; the answer, the server's time, eight in network order.
constexpr char kRequest = 't';
constexpr std::size_t kAnswer = 8;
constexpr Nanoseconds kPatience = kNsPerSecond;
constexpr Nanoseconds kLongEnough = 200 * kNsPerMs;
constexpr int kTurnMs = 500;

[[noreturn]] void fail(const std::string& what) { throw Error(what + ": " + std::strerror(errno)); }

std::string nameOf(const ClockPlace& place) {
  return place.address + ":" + std::to_string(place.port);
}

/// From now on the socket waits, but for a second at most.
void makeWait(const OwnedFd& connection) {
  const timeval limit{.tv_sec = kPatience / kNsPerSecond, .tv_usec = 0};
  setsockopt(connection.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  setsockopt(connection.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  fcntl(connection.get(), F_SETFL, fcntl(connection.get(), F_GETFL) & ~O_NONBLOCK);
}

bool sendAll(int connection, const char* bytes, std::size_t size) {
  return send(connection, bytes, size, MSG_NOSIGNAL) == static_cast<ssize_t>(size);
}

/// False: the client has gone, asks for something else or does not read.
bool answer(int connection, const ClockFunction& now) {
  std::array<char, 64> requests{};
  const ssize_t count = recv(connection, requests.data(), requests.size(), MSG_DONTWAIT);
  if (count < 0) return errno == EAGAIN || errno == EINTR;
  for (ssize_t i = 0; i < count; ++i) {
    if (requests[static_cast<std::size_t>(i)] != kRequest) return false;
    const auto time = static_cast<std::uint64_t>(now());
    std::array<char, kAnswer> bytes{};
    for (std::size_t k = 0; k < kAnswer; ++k) bytes[k] = static_cast<char>(time >> (56 - 8 * k));
    if (!sendAll(connection, bytes.data(), bytes.size())) return false;
  }
  return count > 0;
}

/// False: the server did not answer.
bool ask(int connection, Nanoseconds& time) {
  if (!sendAll(connection, &kRequest, 1)) return false;
  std::array<char, kAnswer> bytes{};
  if (recv(connection, bytes.data(), bytes.size(), MSG_WAITALL) != kAnswer) return false;
  std::uint64_t read = 0;
  for (const char byte : bytes) read = read << 8 | static_cast<unsigned char>(byte);
  time = static_cast<Nanoseconds>(read);
  return true;
}

OwnedFd listenAtPlace(const ClockPlace& place) {
  try {
    return listenAt(place.address, place.port);
  } catch (const Error& e) {
    throw Error(std::string("cannot serve the clock: ") + e.what());
  }
}

}  // namespace

class ClockServer::Impl {
 public:
  Impl(OwnedFd listener, std::string token, ClockFunction now)
      : listener_(std::move(listener)),
        token_(std::move(token)),
        now_(std::move(now)),
        newcomers_({.longest = token_.size()}) {
    if (pipe2(stop_.data(), O_CLOEXEC) != 0) fail("cannot serve the clock");
    clients_.reserve(kMostClients);
    thread_ = std::thread([this] { serve(); });
  }
  ~Impl() {
    // The thread is woken by a byte: closing the pipe would not do while a child has its end open.
    const char byte = 0;
    while (write(stop_[1], &byte, 1) < 0 && errno == EINTR) continue;
    thread_.join();
    for (const int end : stop_) close(end);
  }
  /// The thread may have been changing `clients_`, whose memory stays where it is.
  void abandon() noexcept {
    for (const int end : stop_) close(end);
    listener_.reset();
    newcomers_.abandon();
    for (OwnedFd& client : clients_) client.reset();
  }

 private:
  void serve() {
    for (;;) {
      waiting_.clear();
      waiting_.push_back({.fd = stop_[0], .events = POLLIN, .revents = 0});
      for (const OwnedFd& client : clients_) {
        waiting_.push_back({.fd = client.get(), .events = POLLIN, .revents = 0});
      }
      waiting_.push_back({.fd = listener_.get(), .events = POLLIN, .revents = 0});
      newcomers_.addTo(waiting_);
      const int timeout = newcomers_.size() > 0 ? kTurnMs : -1;
      if (poll(waiting_.data(), waiting_.size(), timeout) < 0 && errno != EINTR) return;
      if (waiting_.front().revents != 0) return;
      answerAll();
      admit();
    }
  }

  void answerAll() {
    for (std::size_t i = 0; i < clients_.size(); ++i) {
      OwnedFd& client = clients_[i];
      if (waiting_[i + 1].revents != 0 && !answer(client.get(), now_)) client.reset();
    }
    std::erase_if(clients_, [](const OwnedFd& client) { return !client.isOpen(); });
  }

  void admit() {
    const auto judge = [&](std::string& received) {
      const std::size_t size = std::min(received.size(), token_.size());
      if (received.compare(0, size, token_, 0, size) != 0)
        return PendingConnections::Answer::kRefuse;
      return size < token_.size() ? PendingConnections::Answer::kWait
                                  : PendingConnections::Answer::kAdmit;
    };
    for (PendingConnections::Admitted& one : newcomers_.admit(listener_, monotonicNow(), judge)) {
      if (clients_.size() < kMostClients) clients_.push_back(std::move(one.fd));
    }
  }

  OwnedFd listener_;
  const std::string token_;  // a newcomer's first request stays unread until it is a client
  const ClockFunction now_;
  std::array<int, 2> stop_{};
  PendingConnections newcomers_;
  std::vector<OwnedFd> clients_;
  std::vector<pollfd> waiting_;  // stop_, clients_, listener_, newcomers_
  std::thread thread_;
};

ClockServer::ClockServer(const ClockPlace& place, ClockFunction now)
    : ClockServer(listenAtPlace(place), place.token, std::move(now)) {}

ClockServer::ClockServer(OwnedFd listener, std::string token, ClockFunction now)
    : port_(portOf(listener)),
      impl_(std::make_unique<UntilFork<Impl>>(std::in_place, std::move(listener), std::move(token),
                                              std::move(now))) {}

ClockServer::~ClockServer() = default;

ClockExchange::ClockExchange(const ClockPlace& place, ClockFunction now, Nanoseconds patience)
    : now_(std::move(now)), peer_(nameOf(place)) {
  try {
    socket_ = connectTo(place.address, place.port, patience);
  } catch (const SocketError& e) {
    throw Error("cannot compare clocks with " + peer_ + ": " +
                (e.number() == 0 ? e.what() : std::strerror(e.number())));
  }
  makeWait(socket_);
  if (!sendAll(socket_.get(), place.token.data(), place.token.size())) {
    fail("cannot compare clocks with " + peer_);
  }
}

void ClockExchange::abandon() noexcept { socket_.reset(); }

ClockReading ClockExchange::compare(int rounds) {
  ClockReading best;
  Nanoseconds shortest = kNsMax;
  const Nanoseconds started = monotonicNow();
  for (int i = 0; i < rounds && (i == 0 || monotonicNow() - started < kLongEnough); ++i) {
    const Nanoseconds sent = now_();
    Nanoseconds there = 0;
    errno = 0;
    if (!ask(socket_.get(), there)) {
      throw Error("cannot compare clocks with " + peer_ + ": " +
                  (errno == 0 ? "it has closed" : std::strerror(errno)));
    }
    const Nanoseconds roundTrip = now_() - sent;
    if (roundTrip >= shortest) continue;
    shortest = roundTrip;
    best.when = sent + roundTrip / 2;
    best.offset = there - best.when;
    best.bound = roundTrip - roundTrip / 2;
  }
  return best;
}

}  // namespace pipetrace
