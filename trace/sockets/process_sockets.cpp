#include "trace/sockets/process_sockets.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>
#include <string>

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

/// One end of a connection as the system's tables have it.
std::string endText(decltype(getsockname)& end, const OwnedFd& connection) {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  if (end(connection.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0 ||
      address.sin_family != AF_INET) {
    return {};
  }
  std::array<char, 16> text{};
  std::snprintf(text.data(), text.size(), "%08X:%04X", address.sin_addr.s_addr,
                static_cast<unsigned>(ntohs(address.sin_port)));
  return text.data();
}

/// The user of the row with both ends; the columns between are its state, queues and timers.
std::optional<uid_t> userIn(const char* table, const std::string& ends) {
  std::ifstream rows(table);
  for (std::string row; std::getline(rows, row);) {
    const std::size_t at = row.find(ends);
    if (at == std::string::npos) continue;
    std::istringstream rest(row.substr(at + ends.size()));
    std::string passedOver;
    for (int i = 0; i < 4; ++i) rest >> passedOver;
    uid_t user = 0;
    if (rest >> user) return user;
  }
  return std::nullopt;
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

std::optional<uid_t> userBehind(const OwnedFd& connection) {
  const std::string other = endText(getpeername, connection);
  const std::string own = endText(getsockname, connection);
  if (other.empty() || own.empty()) return std::nullopt;
  if (const auto user = userIn("/proc/net/tcp", other + " " + own + " ")) return user;
  // A socket of IPv6 that connects to an address of IPv4.
  std::array<char, 25> mapped{};
  std::snprintf(mapped.data(), mapped.size(), "%08X%08X%08X", 0U, 0U, htonl(0xFFFF));
  const std::string prefix = mapped.data();
  return userIn("/proc/net/tcp6", prefix + other + " " + prefix + own + " ");
}

}  // namespace pipetrace
