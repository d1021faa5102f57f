#include "runtime/transport/gloo_traffic.h"

#include <arpa/inet.h>

#include <cstdlib>

#include "trace/sockets/process_sockets.h"

namespace pipetrace {

void GlooTraffic::deviceIsAt(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  if (colon == std::string::npos) return;
  const auto port = static_cast<std::uint16_t>(std::atoi(address.c_str() + colon + 1));
  const std::lock_guard lock(mutex_);
  // Gloo writes the port as it stands in the socket's address, in network order.
  for (const int known : {int{ntohs(port)}, int{port}}) {
    if (own_ == 0 && new_.contains(known)) own_ = known;
  }
}

std::string GlooTraffic::ownPort() const {
  const std::lock_guard lock(mutex_);
  return own_ == 0 ? "" : std::to_string(own_);
}

void GlooTraffic::meet(const std::string& itsPort) {
  const int port = std::atoi(itsPort.c_str());
  const std::lock_guard lock(mutex_);
  if (port != 0) others_.insert(port);
}

// The side that has connected took any port of its own.
std::uint64_t GlooTraffic::bytesMoved() const {
  const std::lock_guard lock(mutex_);
  return pipetrace::bytesMoved(
      [&](int ownPort, int otherPort) { return ownPort == own_ || others_.contains(otherPort); });
}

}  // namespace pipetrace
