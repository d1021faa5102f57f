#include "runtime/testing/run_ranks.h"

#include <exception>

#include "runtime/lanes/rank_threads.h"
#include "runtime/starting_ranks/local_port.h"
#include "runtime/transport/gloo.h"
#include "runtime/transport/in_process.h"
#include "trace/error.h"

namespace pipetrace::testing {

std::vector<std::string> runRanks(int ranks, const std::function<void(int rank)>& body) {
  std::vector<std::string> errors(static_cast<std::size_t>(ranks));
  runRankThreads(ranks, [&](int rank) {
    try {
      body(rank);
    } catch (const std::exception& e) {
      errors[static_cast<std::size_t>(rank)] = e.what();
    }
  });
  return errors;
}

void runRanksOrThrow(int ranks, const std::function<void(int rank)>& body) {
  for (const std::string& error : runRanks(ranks, body)) {
    if (!error.empty()) throw Error(error);
  }
}

namespace {

ProcessEnv environmentOf(int rank, int ranks, int port) {
  return {.rank = rank,
          .localRank = rank,
          .worldSize = ranks,
          .masterAddr = "127.0.0.1",
          .masterPort = port,
          .attempt = "0"};
}

}  // namespace

std::vector<std::string> runConnected(Wiring wiring, int ranks,
                                      const std::function<void(Transport& transport)>& body) {
  InProcessHub hub(ranks);
  const LocalPort port;
  return runRanks(ranks, [&](int rank) {
    std::unique_ptr<Transport> transport;
    if (wiring == Wiring::kInProcess) {
      transport = hub.connect(rank);
    } else {
      GlooOptions options{.env = environmentOf(rank, ranks, port.number())};
      options.connectTimeout = 60 * kNsPerSecond;
      options.waitTimeout = 60 * kNsPerSecond;
      transport = connectGloo(options);
    }
    body(*transport);
  });
}

std::vector<std::string> runControlled(
    Wiring wiring, int ranks, ControlOptions control,
    const std::function<void(Transport& transport, ControlChannel& control)>& body) {
  control.exitDelay = 60 * kNsPerSecond;
  if (wiring == Wiring::kGloo) {
    const LocalPort port;
    return runRanks(ranks, [&](int rank) {
      const GlooRun connected = connectGlooRun({.env = environmentOf(rank, ranks, port.number())},
                                               control, {{"seed", "1"}});
      body(*connected.transport, *connected.control);
    });
  }
  InProcessHub hub(ranks);
  std::vector<std::unique_ptr<Transport>> transports;
  std::vector<Transport*> pointers;
  for (int rank = 0; rank < ranks; ++rank) {
    pointers.push_back(transports.emplace_back(hub.connect(rank)).get());
  }
  const auto channels = controlInProcess(control, pointers);
  return runRanks(ranks, [&](int rank) {
    const auto i = static_cast<std::size_t>(rank);
    body(*transports[i], *channels[i]);
  });
}

}  // namespace pipetrace::testing
