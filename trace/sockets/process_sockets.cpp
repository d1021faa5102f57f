#include "trace/sockets/process_sockets.h"

#include <dirent.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <optional>

namespace pipetrace {

namespace {

struct CloseFolder {
  void operator()(DIR* folder) const { closedir(folder); }
};

void forEachFile(const std::function<void(int file)>& body) {
  const std::unique_ptr<DIR, CloseFolder> folder(opendir("/proc/self/fd"));
  while (const dirent* const entry = folder ? readdir(folder.get()) : nullptr) {
    if (entry->d_name[0] != '.') body(std::atoi(static_cast<const char*>(entry->d_name)));
  }
}

std::optional<int> portAt(decltype(getsockname)& end, int file) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (end(file, reinterpret_cast<sockaddr*>(&address), &size) != 0) return std::nullopt;
  if (address.ss_family == AF_INET) {
    return ntohs(reinterpret_cast<const sockaddr_in&>(address).sin_port);
  }
  if (address.ss_family == AF_INET6) {
    return ntohs(reinterpret_cast<const sockaddr_in6&>(address).sin6_port);
  }
  return std::nullopt;
}

bool isListening(int file) {
  int listens = 0;
  socklen_t size = sizeof listens;
  return getsockopt(file, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) == 0 && listens != 0;
}

std::uint64_t bytesOf(int file) {
  tcp_info info{};
  socklen_t size = sizeof info;
  const bool isKnown = getsockopt(file, IPPROTO_TCP, TCP_INFO, &info, &size) == 0 &&
                       size > offsetof(tcp_info, tcpi_bytes_received);
  return isKnown ? info.tcpi_bytes_acked + info.tcpi_bytes_received : 0;
}

}  // namespace

std::set<int> listeningPorts() {
  std::set<int> ports;
  forEachFile([&](int file) {
    if (!isListening(file)) return;
    if (const auto port = portAt(getsockname, file)) ports.insert(*port);
  });
  return ports;
}

std::uint64_t bytesMoved(const std::function<bool(int ownPort, int otherPort)>& counts) {
  std::uint64_t bytes = 0;
  forEachFile([&](int file) {
    const auto other = portAt(getpeername, file);  // few files have another side
    const auto own = other ? portAt(getsockname, file) : std::nullopt;
    if (own && counts(*own, *other)) bytes += bytesOf(file);
  });
  return bytes;
}

}  // namespace pipetrace
