#include "runtime/transport/gloo_device.h"

#include <sched.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "trace/sockets/process_sockets.h"

namespace pipetrace {

namespace {

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

}  // namespace

GlooDevice makeGlooDevice(const std::string& address) {
  const bool isLazy = true;
  const std::set<int> before = listeningPorts();
  GlooDevice made;
  made.device =
      patient([&] { return c10d::ProcessGroupGloo::createDeviceForHostname(address, isLazy); });
  for (const int port : listeningPorts()) {
    if (!before.contains(port)) made.newPorts.insert(port);
  }
  return made;
}

}  // namespace pipetrace
