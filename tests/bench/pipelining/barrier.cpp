#include "tests/bench/pipelining/barrier.h"

#include <c10/util/Exception.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "runtime/errors/error_text.h"
#include "trace/error.h"

namespace pipetrace::bench {

class Barrier::Impl {
 public:
  Impl(const ProcessEnv& env, int port) {
    constexpr std::chrono::seconds kTimeout{60};
    c10d::TCPStoreOptions storeOptions;
    storeOptions.port = static_cast<std::uint16_t>(port);
    storeOptions.isServer = env.rank == 0;
    storeOptions.numWorkers = static_cast<std::size_t>(env.worldSize);
    storeOptions.timeout = kTimeout;
    auto options = c10d::ProcessGroupGloo::Options::create(kTimeout);
    options->devices.push_back(
        c10d::ProcessGroupGloo::createDeviceForHostname(env.masterAddr.c_str()));
    group_ = c10::make_intrusive<c10d::ProcessGroupGloo>(
        c10::make_intrusive<c10d::TCPStore>(env.masterAddr, storeOptions), env.rank, env.worldSize,
        options);
  }

  void wait() { group_->barrier()->wait(); }

 private:
  c10::intrusive_ptr<c10d::ProcessGroupGloo> group_;
};

Barrier::Barrier(const ProcessEnv& env, int port) {
  try {
    impl_ = std::make_unique<Impl>(env, port);
  } catch (const c10::Error& e) {
    throw Error("the ranks do not meet at port " + std::to_string(port) + ": " + errorText(e));
  }
}

Barrier::~Barrier() = default;

void Barrier::wait() { impl_->wait(); }

}  // namespace pipetrace::bench
