#include "profiler/clock/clock_exchange.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
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

#include "trace/error.h"

namespace pipetrace {
namespace {

// More than any number of ranks that ask one host.
constexpr std::size_t kMostSockets = 4096;
// A request is one byte; the answer, the server's time, eight in network order.
constexpr std::size_t kAnswer = 8;
constexpr timeval kSocketLimit{.tv_sec = 1, .tv_usec = 0};

std::string nameOf(const std::string& address, int port) {
  return address + ":" + std::to_string(port);
}

[[noreturn]] void fail(const std::string& what) { throw Error(what + ": " + std::strerror(errno)); }

sockaddr_in addressOf(const std::string& address, int port) {
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<std::uint16_t>(port));
  if (inet_pton(AF_INET, address.c_str(), &to.sin_addr) != 1) {
    throw Error("cannot compare clocks with \"" + address + "\": that is no IPv4 address");
  }
  return to;
}

/// Neither end may wait to gather small messages, or block for ever.
void prepare(int connection) {
  const int yes = 1;
  setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &kSocketLimit, sizeof kSocketLimit);
  setsockopt(connection, SOL_SOCKET, SO_SNDTIMEO, &kSocketLimit, sizeof kSocketLimit);
}

bool sendAll(int connection, const char* bytes, std::size_t size) {
  return send(connection, bytes, size, MSG_NOSIGNAL) == static_cast<ssize_t>(size);
}

bool answer(int connection, const ClockFunction& now) {
  char request = 0;
  if (recv(connection, &request, 1, 0) != 1) return false;
  const auto time = static_cast<std::uint64_t>(now());
  std::array<char, kAnswer> bytes{};
  for (std::size_t i = 0; i < kAnswer; ++i) bytes[i] = static_cast<char>(time >> (56 - 8 * i));
  return sendAll(connection, bytes.data(), bytes.size());
}

/// False: the server did not answer.
bool ask(int connection, Nanoseconds& time) {
  const char request = 't';
  if (!sendAll(connection, &request, 1)) return false;
  std::array<char, kAnswer> bytes{};
  if (recv(connection, bytes.data(), bytes.size(), MSG_WAITALL) != kAnswer) return false;
  std::uint64_t read = 0;
  for (const char byte : bytes) read = read << 8 | static_cast<unsigned char>(byte);
  time = static_cast<Nanoseconds>(read);
  return true;
}

}  // namespace

class ClockServer::Impl {
 public:
  Impl(int listener, ClockFunction now) : listener_(listener), now_(std::move(now)) {
    if (pipe2(stop_.data(), O_CLOEXEC) != 0) fail("cannot serve the clock");
    sockets_.reserve(kMostSockets);
    sockets_.push_back({.fd = listener_, .events = POLLIN, .revents = 0});
    thread_ = std::thread([this] { serve(); });
  }
  ~Impl() {
    // The thread is woken by a byte: closing the pipe would not do while a child has its end open.
    const char byte = 0;
    while (write(stop_[1], &byte, 1) < 0 && errno == EINTR) continue;
    thread_.join();
    closeAll();
  }
  /// The thread may have been changing `sockets_`, whose memory stays where it is.
  void abandon() noexcept { closeAll(); }

 private:
  void closeAll() noexcept {
    for (const int end : stop_) close(end);
    for (const pollfd& open : sockets_) close(open.fd);
  }

  void serve() {
    for (;;) {
      asked_ = sockets_;
      asked_.push_back({.fd = stop_[0], .events = POLLIN, .revents = 0});
      if (poll(asked_.data(), asked_.size(), -1) < 0 && errno != EINTR) return;
      if (asked_.back().revents != 0) return;
      if (asked_.front().revents != 0) accept();
      for (std::size_t i = 1; i + 1 < asked_.size(); ++i) {
        if (asked_[i].revents != 0 && !answer(asked_[i].fd, now_)) drop(asked_[i].fd);
      }
    }
  }

  void accept() {
    const int connection = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (connection < 0) return;
    if (sockets_.size() == kMostSockets) {
      close(connection);
      return;
    }
    prepare(connection);
    sockets_.push_back({.fd = connection, .events = POLLIN, .revents = 0});
  }

  void drop(int connection) {
    close(connection);
    std::erase_if(sockets_, [&](const pollfd& open) { return open.fd == connection; });
  }

  const int listener_;
  const ClockFunction now_;
  std::array<int, 2> stop_{};
  std::vector<pollfd> sockets_;  // the listener first
  std::vector<pollfd> asked_;    // the same with the end of `stop_`, as poll() wants it
  std::thread thread_;
};

ClockServer::ClockServer(const std::string& address, int port, ClockFunction now) {
  sockaddr_in here = addressOf(address, port);
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (listener < 0) fail("cannot serve the clock");
  const int yes = 1;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  socklen_t size = sizeof here;
  auto* const generic = reinterpret_cast<sockaddr*>(&here);
  if (bind(listener, generic, size) != 0 || listen(listener, SOMAXCONN) != 0 ||
      getsockname(listener, generic, &size) != 0) {
    const int why = errno;
    close(listener);
    errno = why;
    fail("cannot serve the clock at " + nameOf(address, port));
  }
  port_ = ntohs(here.sin_port);
  impl_ = std::make_unique<UntilFork<Impl>>(std::in_place, listener, std::move(now));
}

ClockServer::~ClockServer() = default;

ClockExchange::ClockExchange(const std::string& address, int port, ClockFunction now)
    : now_(std::move(now)), peer_(nameOf(address, port)) {
  const sockaddr_in there = addressOf(address, port);
  socket_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket_ < 0) fail("cannot compare clocks with " + peer_);
  prepare(socket_);
  if (connect(socket_, reinterpret_cast<const sockaddr*>(&there), sizeof there) != 0) {
    const int why = errno;
    close(socket_);
    errno = why;
    fail("cannot compare clocks with " + peer_);
  }
}

ClockExchange::~ClockExchange() {
  if (socket_ >= 0) close(socket_);
}

void ClockExchange::abandon() noexcept { close(std::exchange(socket_, -1)); }

ClockReading ClockExchange::compare(int rounds) {
  ClockReading best;
  Nanoseconds shortest = kNsMax;
  for (int i = 0; i < rounds; ++i) {
    const Nanoseconds sent = now_();
    Nanoseconds there = 0;
    errno = 0;
    if (!ask(socket_, there)) {
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
