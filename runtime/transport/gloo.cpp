#include "runtime/transport/gloo.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <mutex>
#include <sstream>
#include <streambuf>
#include <string>
#include <thread>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#include <utility>
#include <vector>

#include "runtime/control/control_mesh.h"
#include "runtime/control/start/links.h"
#include "runtime/control/steady_time.h"
#include "runtime/errors/error_text.h"
#include "runtime/transport/gloo_group.h"
#include "runtime/transport/gloo_header.h"
#include "runtime/transport/gloo_lanes.h"
#include "runtime/transport/gloo_pairs.h"
#include "runtime/transport/gloo_store.h"
#include "trace/error.h"
#include "trace/sockets/owned_fd.h"
#include "trace/sockets/tcp.h"

namespace pipetrace {

namespace {

std::chrono::milliseconds toMilliseconds(Nanoseconds time) {
  return std::chrono::milliseconds(time / kNsPerMs);
}

class GlooTransport : public Transport {
 public:
  GlooTransport(c10::intrusive_ptr<c10d::Store> store, const c10::intrusive_ptr<LazyGroup>& group,
                std::unique_ptr<GlooPairs> pairs, const GlooOptions& options)
      : store_(std::move(store)),
        group_(group, options.waitTimeout, std::move(pairs)),
        tags_(options.tags),
        overlaps_(options.overlaps) {}

  /// Without a control channel only its connections tell a rank that another has ended.
  void connectAll() {
    for (int peer = 0; peer < worldSize(); ++peer) {
      if (peer != rank()) group_.open(peer);
    }
    group_.awaitOpen();
  }

  int rank() const override { return group_.rank(); }
  int worldSize() const override { return group_.size(); }

  std::unique_ptr<SendLane<Message>> openSend(int to, const LaneName& name,
                                              std::size_t messages) override {
    return makeGlooSendLane(group_, laneOptions(to, name, messages), clock());
  }
  std::unique_ptr<ReceiveLane<Message>> openReceive(int from, const LaneName& name,
                                                    std::size_t messages) override {
    return makeGlooReceiveLane(group_, laneOptions(from, name, messages), clock());
  }

  void awaitLanes() override { group_.awaitOpen(); }

  void useDevice(RankDevice& device) override {
    if (!overlaps_) {
      throw Error(
          "without overlap of sends and receives there is no thread that waits for the messages of "
          "a device");
    }
    device_ = &device;
  }

  bool sendsBlock() const override { return !overlaps_; }

  void abort(const std::string& reason) noexcept override { group_.abort(reason); }

  void finish() override { group_.barrier(); }

  std::uint64_t bytesMoved() const { return group_.bytesMoved(); }

 private:
  GlooLaneOptions laneOptions(int peer, const LaneName& name, std::size_t messages) {
    if (peer < 0 || peer >= worldSize() || peer == rank()) {
      throw Error("rank " + std::to_string(rank()) + " has no peer " + std::to_string(peer) +
                  " among " + std::to_string(worldSize()) + " ranks");
    }
    group_.open(peer);
    GlooTags tags = tags_;
    tags.program = name.program;
    return {.peer = peer,
            .name = name,
            .messages = messages,
            .tags = tags,
            // Where the plan says nothing of when they are sent, nobody may wait for them.
            .background = overlaps_ || !name.isOrdered(),
            .device = name.isOfHost() ? nullptr : device_};
  }

  c10::intrusive_ptr<c10d::Store> store_;
  GlooGroup group_;
  const GlooTags tags_;
  const bool overlaps_;
  RankDevice* device_ = nullptr;
};

/// Keeps Gloo from writing to stdout which ranks it is connected with.
///
/// Threads: one at a time has it, others wait.
class QuietStdout {
 public:
  QuietStdout() : lock_(mutex()), before_(std::cout.rdbuf(&nothing_)) {}
  ~QuietStdout() { std::cout.rdbuf(before_); }
  QuietStdout(const QuietStdout&) = delete;
  QuietStdout& operator=(const QuietStdout&) = delete;

 private:
  struct Nothing : std::streambuf {
    int overflow(int character) override { return character; }
    std::streamsize xsputn(const char*, std::streamsize size) override { return size; }
  };
  static std::mutex& mutex() {
    static std::mutex one;
    return one;
  }
  const std::lock_guard<std::mutex> lock_;
  Nothing nothing_;
  std::streambuf* const before_;
};

/// The socket at which rank 0's store takes connections, at MASTER_ADDR alone. There is none, and
/// the store takes all addresses, where MASTER_ADDR is not one of this host. The same goes for a
/// name that is a loopback address here: other hosts may have another address for it.
std::optional<int> listenerForStore(const ProcessEnv& env) {
  const bool isSame = env.masterAddr == "localhost" || isAddress(env.masterAddr);
  if (!isSame && isLoopback(addressTowards(env.masterAddr, env.masterPort))) return std::nullopt;
  try {
    return bindAt(env.masterAddr, env.masterPort).release();
  } catch (const SocketError& e) {
    if (e.number() == EADDRNOTAVAIL) return std::nullopt;
    throw Error(std::string("rank 0 cannot serve the store: ") + e.what());
  }
}

[[noreturn]] void failToReachStore(const ProcessEnv& env, const std::string& why) {
  throw Error("rank " + std::to_string(env.rank) + " of " + std::to_string(env.worldSize) +
              " cannot reach the store of the run at " + env.masterAddr + ":" +
              std::to_string(env.masterPort) + ": " + why +
              "; does rank 0 run, with the same MASTER_ADDR and MASTER_PORT?");
}

/// Waits until somebody listens there. LibTorch itself waits twice as long, and prints pages.
void awaitStore(const ProcessEnv& env, Nanoseconds timeout) {
  constexpr Nanoseconds kOneTry = kNsPerSecond;
  const Nanoseconds end = steadyTime() + timeout;
  while (true) {
    try {
      connectTo(env.masterAddr, env.masterPort, kOneTry);
      return;
    } catch (const SocketError& e) {
      if (steadyTime() >= end) failToReachStore(env, e.what());
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

c10::intrusive_ptr<c10d::Store> openStore(const ProcessEnv& env, Nanoseconds timeout) {
  allowMoreFiles();
  c10d::TCPStoreOptions storeOptions;
  storeOptions.port = static_cast<std::uint16_t>(env.masterPort);
  storeOptions.isServer = env.rank == 0 && !env.agentStore;
  storeOptions.waitWorkers = false;  // awaitSameRun() knows who is missing
  storeOptions.timeout = toMilliseconds(timeout);
  if (storeOptions.isServer) {
    storeOptions.masterListenFd = listenerForStore(env);
  } else {
    awaitStore(env, timeout);
  }
  try {
    auto store = c10::make_intrusive<c10d::TCPStore>(env.masterAddr, storeOptions);
    return c10::make_intrusive<c10d::PrefixStore>("pipetrace/" + env.attempt, store);
  } catch (const std::exception& e) {
    failToReachStore(env, firstLineOf(e));
  }
}

/// The address of this host from which this rank reaches the others.
std::string ownAddress(const ProcessEnv& env) {
  const char* const names = std::getenv("GLOO_SOCKET_IFNAME");
  const std::string name = names == nullptr ? "" : names;
  if (!name.empty()) return addressOfInterface(name.substr(0, name.find(',')));
  return addressTowards(env.masterAddr, env.masterPort);
}

std::string hostName() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

/// Lives while the ranks come together.
struct Start {
  explicit Start(const GlooOptions& options)
      : store(options.store ? options.store->store
                            : openStore(options.env, options.connectTimeout)),
        words(std::make_shared<GlooStore>(store)),
        start(*words, options.env.rank, options.env.worldSize, options.connectTimeout, begun) {}

  RanksOfRun awaitAll(const ProcessEnv& env, RunFacts facts) {
    std::string address;
    try {
      address = ownAddress(env);
    } catch (const Error& e) {
      start.fail("rank " + std::to_string(env.rank) +
                 " has no address for the others: " + e.what());
    }
    facts.emplace_back("format of messages", std::to_string(kGlooFormat));
    return awaitSameRun(
        start,
        {.rank = env.rank, .worldSize = env.worldSize, .address = address, .host = hostName()},
        facts);
  }

  const Nanoseconds begun = steadyTime();
  c10::intrusive_ptr<c10d::Store> store;
  std::shared_ptr<GlooStore> words;
  RunStart start;
};

std::unique_ptr<GlooTransport> makeTransport(Start& start, const GlooOptions& options,
                                             const std::string& address) {
  const ProcessEnv& env = options.env;
  try {
    // The time in which one connection has to come about.
    auto groupOptions =
        c10d::ProcessGroupGloo::Options::create(toMilliseconds(options.linkTimeout));
    GlooDevice device = makeGlooDevice(address);
    groupOptions->devices.push_back(std::move(device.device));
    c10::intrusive_ptr<LazyGroup> group;
    {
      const QuietStdout quiet;
      group = c10::make_intrusive<LazyGroup>(start.store, env.rank, env.worldSize, groupOptions);
    }
    group->setTimeout(toMilliseconds(options.waitTimeout));
    auto pairs =
        std::make_unique<GlooPairs>(group, start.words, options.waitTimeout, device.newPorts);
    return std::make_unique<GlooTransport>(start.store, group, std::move(pairs), options);
  } catch (const std::exception& e) {
    start.start.fail("rank " + std::to_string(env.rank) + " cannot be reached at " + address +
                     ": " + firstLineOf(e));
  }
}

/// Rank 0 takes questions for its time from now on, and answers them once it records.
std::optional<RunClock> shareClock(Start& start, const ProcessEnv& env, const RanksOfRun& ranks) {
  if (!ranks.hasSeveralHosts()) return std::nullopt;
  constexpr const char* kKey = "clock";
  RunClock clock;
  if (env.rank != 0) {
    std::istringstream text(
        start.start.await(kKey, [] { return "rank 0 did not say where its clock is"; }));
    text >> clock.place.port >> clock.place.token >> clock.place.address;
    return clock;
  }
  try {
    clock.listener = listenAt(ranks.address, env.clockPort);
  } catch (const Error& e) {
    start.start.fail(std::string("rank 0 cannot serve its clock: ") + e.what());
  }
  clock.place = {.address = ranks.address, .port = portOf(clock.listener), .token = randomToken()};
  start.words->set(
      kKey, std::to_string(clock.place.port) + " " + clock.place.token + " " + clock.place.address);
  return clock;
}

}  // namespace

std::shared_ptr<RunStore> openRunStore(const ProcessEnv& env, Nanoseconds connectTimeout) {
  return std::make_shared<RunStore>(RunStore{openStore(env, connectTimeout)});
}

std::unique_ptr<Transport> connectGloo(const GlooOptions& options) {
  Start start(options);
  auto transport = makeTransport(start, options, start.awaitAll(options.env, {}).address);
  transport->connectAll();
  return transport;
}

GlooRun connectGlooRun(GlooOptions options, ControlOptions control, const RunFacts& facts) {
  constexpr Nanoseconds kNoLimit = 30 * 24 * 3600 * kNsPerSecond;
  options.waitTimeout = kNoLimit;
  Start start(options);
  const RanksOfRun ranks = start.awaitAll(options.env, facts);
  GlooRun run{.store = std::make_shared<RunStore>(RunStore{start.store})};
  run.clock = shareClock(start, options.env, ranks);
  auto transport = makeTransport(start, options, ranks.address);
  control.rank = options.env.rank;
  control.worldSize = options.env.worldSize;
  control.onFailure = [own = transport.get(), also = std::move(control.onFailure)](
                          const FailureCause& cause, const std::string& text) {
    own->abort(text);
    if (also) also(cause, text);
  };
  control.bytesMoved = [own = transport.get()] { return own->bytesMoved(); };
  run.control = connectControlMesh(
      std::move(control),
      {.host = ranks.address, .hosts = ranks.hosts, .linkTimeout = options.linkTimeout},
      start.start);
  run.transport = std::move(transport);
  return run;
}

}  // namespace pipetrace
