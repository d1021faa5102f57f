#include "runtime/testing/run_ranks.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <exception>
#include <thread>

#include "runtime/gloo_transport.h"
#include "runtime/in_process_transport.h"
#include "trace/error.h"

namespace pipetrace::testing {

std::vector<std::string> runRanks(int ranks, const std::function<void(int rank)>& body) {
  std::vector<std::string> errors(static_cast<std::size_t>(ranks));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        body(rank);
      } catch (const std::exception& e) {
        errors[static_cast<std::size_t>(rank)] = e.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return errors;
}

void runRanksOrThrow(int ranks, const std::function<void(int rank)>& body) {
  for (const std::string& error : runRanks(ranks, body)) {
    if (!error.empty()) throw Error(error);
  }
}

std::vector<std::string> runConnected(Wiring wiring, int ranks,
                                      const std::function<void(Transport& transport)>& body) {
  InProcessHub hub(ranks);
  const int port = freePort();
  return runRanks(ranks, [&](int rank) {
    std::unique_ptr<Transport> transport;
    if (wiring == Wiring::kInProcess) {
      transport = hub.connect(rank);
    } else {
      GlooOptions options{.env = {.rank = rank,
                                  .localRank = rank,
                                  .worldSize = ranks,
                                  .masterAddr = "127.0.0.1",
                                  .masterPort = port,
                                  .attempt = "0"}};
      options.connectTimeout = 60 * kNsPerSecond;
      options.waitTimeout = 60 * kNsPerSecond;
      transport = connectGloo(options);
    }
    body(*transport);
  });
}

int freePort() {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  const bool bound =
      fd >= 0 && bind(fd, generic, size) == 0 && getsockname(fd, generic, &size) == 0;
  if (fd >= 0) close(fd);
  if (!bound) throw Error("no free port on 127.0.0.1");
  return ntohs(address.sin_port);
}

}  // namespace pipetrace::testing
