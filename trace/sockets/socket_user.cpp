#include "trace/sockets/socket_user.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>

namespace pipetrace {

namespace {

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
