#include "runtime/starting_ranks/local_port.h"

#include "trace/error.h"
#include "trace/sockets/tcp.h"

namespace pipetrace {

LocalPort::LocalPort(int wanted, const std::string& address) {
  if (wanted < 0 || wanted > 65535) {
    throw Error("there is no port " + std::to_string(wanted) + " of " + address);
  }
  try {
    socket_ = bindAt(address, wanted);
  } catch (const Error& e) {
    throw Error(std::string(e.what()) + "; choose another, or none to get a free one");
  }
  number_ = portOf(socket_);
}

}  // namespace pipetrace
