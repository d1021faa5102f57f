#include "runtime/transport/gloo_traffic.h"

#include <sstream>

#include "trace/sockets/process_sockets.h"

namespace pipetrace {

std::string GlooTraffic::ownPorts() const {
  std::string text;
  for (const int port : own_) text += std::to_string(port) + " ";
  return text;
}

void GlooTraffic::meet(const std::string& itsPorts) {
  std::istringstream text(itsPorts);
  const std::lock_guard lock(mutex_);
  for (int port = 0; text >> port;) others_.insert(port);
}

// The side that has connected took any port of its own.
std::uint64_t GlooTraffic::bytesMoved() const {
  const std::lock_guard lock(mutex_);
  return pipetrace::bytesMoved([&](int ownPort, int otherPort) {
    return own_.contains(ownPort) || others_.contains(otherPort);
  });
}

}  // namespace pipetrace
