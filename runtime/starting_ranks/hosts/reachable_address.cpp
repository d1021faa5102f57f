#include "runtime/starting_ranks/hosts/reachable_address.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <thread>

#include "profiler/clock/wall_clock.h"
#include "runtime/starting_ranks/hosts/host_list.h"
#include "trace/error.h"
#include "trace/sockets/tcp.h"

namespace pipetrace {
namespace {

const char* anyAddress(const std::vector<std::string>& addresses) {
  const bool isSix = addresses[0].find(':') != std::string::npos;
  return isSix ? "::" : "0.0.0.0";
}

bool says(const OwnedFd& fd, const std::string& token, Nanoseconds end) {
  std::string received;
  while (received.size() < token.size()) {
    const Nanoseconds left = end - monotonicNow();
    pollfd one{fd.get(), POLLIN, 0};
    if (left <= 0 || poll(&one, 1, static_cast<int>(left / kNsPerMs) + 1) == 0) return false;
    std::array<char, 64> buffer;
    const ssize_t n = read(fd.get(), buffer.data(), buffer.size());
    if (n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN)) return false;
    if (n > 0) received.append(buffer.data(), static_cast<std::size_t>(n));
  }
  return received == token;
}

bool isReached(const std::string& address, int port, const std::string& token,
               Nanoseconds timeout) {
  try {
    const Nanoseconds end = monotonicNow() + timeout;
    return says(connectTo(address, port, timeout), token, end);
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

MeetingPoint::MeetingPoint(int port) : addresses_(addressesOfThisHost()), token_(randomToken()) {
  try {
    listener_ = listenAt(anyAddress(addresses_), port);
  } catch (const Error& e) {
    throw Error(std::string(e.what()) + "; choose another port, or none to get a free one");
  }
  port_ = portOf(listener_);
}

void MeetingPoint::answer() {
  if (!listener_.isOpen()) return;
  for (OwnedFd fd = acceptFrom(listener_); fd.isOpen(); fd = acceptFrom(listener_)) {
    // A fresh connection has room for so little. One that is gone already gets nothing.
    send(fd.get(), token_.data(), token_.size(), MSG_NOSIGNAL);
  }
}

std::vector<std::string> reachedOf(const std::vector<std::string>& addresses, int port,
                                   const std::string& token, Nanoseconds timeout) {
  std::vector<char> reached(addresses.size(), 0);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    threads.emplace_back(
        [&, i] { reached[i] = isReached(addresses[i], port, token, timeout) ? 1 : 0; });
  }
  for (std::thread& thread : threads) thread.join();
  std::vector<std::string> result;
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    if (reached[i] != 0) result.push_back(addresses[i]);
  }
  return result;
}

}  // namespace pipetrace
