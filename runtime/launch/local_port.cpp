#include "runtime/launch/local_port.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "trace/error.h"

namespace pipetrace {

int freeLocalPort(int wanted) {
  const std::string name = "port " + std::to_string(wanted) + " of 127.0.0.1";
  if (wanted < 0 || wanted > 65535) throw Error("there is no " + name);
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) throw Error(std::string("cannot make a socket: ") + std::strerror(errno));
  const int on = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<in_port_t>(wanted));
  socklen_t size = sizeof address;
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  const bool bound = bind(fd, generic, size) == 0 && getsockname(fd, generic, &size) == 0;
  const int error = errno;
  close(fd);
  if (!bound) {
    throw Error("cannot use " + name + ": " + std::strerror(error) +
                "; choose another, or none to get a free one");
  }
  return ntohs(address.sin_port);
}

}  // namespace pipetrace
