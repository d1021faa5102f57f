#include "runtime/control/control_socket.h"

#include <sys/socket.h>

#include <array>
#include <cerrno>

namespace pipetrace {

namespace {

constexpr std::size_t kMostAtOnce = 1 << 20;

bool saysCutOff(int error) {
  return error == ETIMEDOUT || error == EHOSTUNREACH || error == ENETUNREACH || error == EHOSTDOWN;
}

}  // namespace

void ControlSocket::send(const std::string& bytes) {
  if (!isOpen()) return;
  unsent_ += bytes;
  flush();
}

void ControlSocket::flush() {
  while (isOpen() && !unsent_.empty()) {
    const ssize_t sent = ::send(fd(), unsent_.data(), unsent_.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno != EAGAIN) {  // receive() finds the end
      isCutOff_ = isCutOff_ || saysCutOff(errno);
      unsent_.clear();
    }
    if (sent <= 0) return;
    unsent_.erase(0, static_cast<std::size_t>(sent));
  }
}

bool ControlSocket::receive() {
  std::array<char, 4096> bytes{};
  for (std::size_t taken = 0; isOpen() && taken < kMostAtOnce;) {
    const ssize_t size = recv(fd(), bytes.data(), bytes.size(), 0);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno == EAGAIN) return true;
    if (size < 0) isCutOff_ = isCutOff_ || saysCutOff(errno);
    if (size <= 0) return false;
    received_.append(bytes.data(), static_cast<std::size_t>(size));
    taken += static_cast<std::size_t>(size);
  }
  return isOpen();
}

void ControlSocket::endSending() {
  if (isOpen()) shutdown(fd(), SHUT_WR);
}

}  // namespace pipetrace
