#include "runtime/transport/gloo.h"

#include <sched.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#include <utility>
#include <vector>

#include "runtime/control/control_mesh.h"
#include "runtime/control/control_socket.h"
#include "runtime/error_text.h"
#include "runtime/transport/gloo_group.h"
#include "runtime/transport/gloo_lanes.h"
#include "runtime/transport/gloo_store.h"
#include "trace/error.h"

namespace pipetrace {

namespace {

std::chrono::milliseconds toMilliseconds(Nanoseconds time) {
  return std::chrono::milliseconds(time / kNsPerMs);
}

class GlooTransport : public Transport {
 public:
  c10::intrusive_ptr<c10d::Store> store() const { return store_; }

  GlooTransport(c10::intrusive_ptr<c10d::Store> store,
                c10::intrusive_ptr<c10d::ProcessGroupGloo> group, const GlooOptions& options)
      : store_(std::move(store)),
        group_(std::move(group), options.waitTimeout),
        tags_(options.tags),
        overlaps_(options.overlaps) {}

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

  bool sendsBlock() const override { return !overlaps_; }

  void abort(const std::string& reason) noexcept override { group_.abort(reason); }

  void finish() override { group_.barrier(); }

 private:
  GlooLaneOptions laneOptions(int peer, const LaneName& name, std::size_t messages) const {
    if (peer < 0 || peer >= worldSize() || peer == rank()) {
      throw Error("rank " + std::to_string(rank()) + " has no peer " + std::to_string(peer) +
                  " among " + std::to_string(worldSize()) + " ranks");
    }
    return {.peer = peer,
            .name = name,
            .messages = messages,
            .tags = tags_,
            // The plan says nothing of when other tensors are sent, so nobody may wait for them.
            .background = overlaps_ || name.tensor != 0};
  }

  c10::intrusive_ptr<c10d::Store> store_;
  GlooGroup group_;
  const GlooTags tags_;
  const bool overlaps_;
};

/// The threads of this process.
std::set<int> threadsNow() {
  std::set<int> threads;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task", ignored)) {
    threads.insert(std::atoi(entry.path().filename().c_str()));
  }
  return threads;
}

/// Has the threads that `start` begins wait for their turn when they wake up. Gloo's thread would
/// else interrupt the one that is just sending, and then ask again and again, for as long as the
/// scheduler lets it, whether that is done.
template <typename Start>
auto patient(const Start& start) {
  const std::set<int> before = threadsNow();
  auto result = start();
  for (const int thread : threadsNow()) {
    if (before.contains(thread)) continue;
    const sched_param parameters{};
    sched_setscheduler(thread, SCHED_BATCH, &parameters);  // it may be refused
  }
  return result;
}

bool isLoopback(const std::string& address) {
  return address == "localhost" || address == "::1" || address.starts_with("127.");
}

std::shared_ptr<gloo::transport::Device> deviceFor(const ProcessEnv& env) {
  if (const char* name = std::getenv("GLOO_SOCKET_IFNAME"); name != nullptr && *name != '\0') {
    return c10d::ProcessGroupGloo::createDeviceForInterface(name);
  }
  if (isLoopback(env.masterAddr)) {
    return c10d::ProcessGroupGloo::createDeviceForHostname("127.0.0.1");
  }
  return c10d::ProcessGroupGloo::createDefaultDevice();
}

c10::intrusive_ptr<c10d::Store> openStore(const GlooOptions& options) {
  c10d::TCPStoreOptions storeOptions;
  storeOptions.port = static_cast<std::uint16_t>(options.env.masterPort);
  storeOptions.isServer = options.env.rank == 0 && !options.env.agentStore;
  storeOptions.numWorkers = static_cast<std::size_t>(options.env.worldSize);
  storeOptions.waitWorkers = !options.env.agentStore;
  storeOptions.timeout = toMilliseconds(options.connectTimeout);
  auto store = c10::make_intrusive<c10d::TCPStore>(options.env.masterAddr, storeOptions);
  return c10::make_intrusive<c10d::PrefixStore>("pipetrace/" + options.env.attempt, store);
}

std::unique_ptr<GlooTransport> connect(const GlooOptions& options) {
  const ProcessEnv& env = options.env;
  try {
    auto store = openStore(options);
    auto groupOptions =
        c10d::ProcessGroupGloo::Options::create(toMilliseconds(options.connectTimeout));
    groupOptions->devices.push_back(patient([&] { return deviceFor(env); }));
    auto group =
        c10::make_intrusive<c10d::ProcessGroupGloo>(store, env.rank, env.worldSize, groupOptions);
    group->setTimeout(toMilliseconds(options.waitTimeout));
    return std::make_unique<GlooTransport>(std::move(store), std::move(group), options);
  } catch (const std::exception& e) {
    throw Error("rank " + std::to_string(env.rank) + " of " + std::to_string(env.worldSize) +
                " could not connect to its peers at " + env.masterAddr + ":" +
                std::to_string(env.masterPort) + ": " + firstLineOf(e) +
                "; are all ranks running, with the same MASTER_ADDR and MASTER_PORT?");
  }
}

}  // namespace

std::unique_ptr<Transport> connectGloo(const GlooOptions& options) { return connect(options); }

GlooRun connectGlooRun(GlooOptions options, ControlOptions control, const RunFacts& facts) {
  constexpr Nanoseconds kNoLimit = 30 * 24 * 3600 * kNsPerSecond;
  options.waitTimeout = kNoLimit;
  const ProcessEnv& env = options.env;
  auto transport = connect(options);
  GlooStore store(transport->store());
  requireSameRun(store, env.rank, env.worldSize, facts, options.connectTimeout);
  control.rank = env.rank;
  control.worldSize = env.worldSize;
  control.onFailure = [own = transport.get()](const FailureCause&, const std::string& text) {
    own->abort(text);
  };
  MeshOptions mesh;
  mesh.host = addressTowards(env.masterAddr, env.masterPort);
  mesh.connectTimeout = options.connectTimeout;
  GlooRun run;
  run.control = connectControlMesh(std::move(control), mesh, store);
  run.transport = std::move(transport);
  return run;
}

}  // namespace pipetrace
