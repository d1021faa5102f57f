#include "profiler/testing/fake_nvml.h"

#include <unistd.h>

#include <array>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "profiler/nvml/library.h"

// PIPETRACE_OLDER_NVML: as drivers before 535, without the newer name of the clock event reasons.

namespace {

using namespace pipetrace::nvml;  // its types; numbers are here as in nvml.h

constexpr int kUninitialized = 1;
constexpr int kInvalidArgument = 2;
constexpr int kNotFound = 6;
constexpr int kInsufficientSize = 7;

struct Gpu {
  const char* uuid;
  unsigned megahertz;
};

struct State {
  std::array<Gpu, 2> gpus = {{{"GPU-10111213-1415-1617-1819-1a1b1c1d1e1f", 1410},
                              {"GPU-00010203-0405-0607-0809-0a0b0c0d0e0f", 1980}}};
  unsigned long long own = 3'000'000'000;
  unsigned long long others = 512'345'678;
  bool isListed = true;
  std::map<std::pair<std::string, int>, int> errors;
  std::int64_t calls = 0;
  int users = 0;
  int misuses = 0;
};

std::mutex mutex;
State state;
thread_local std::int64_t callsOfThisThread = 0;

/// A call of an NVML function. `answer`, under the lock, gives its result.
template <typename Answer>
Result call(const char* function, int number, const Answer& answer) {
  const std::lock_guard lock(mutex);
  ++state.calls;
  ++callsOfThisThread;
  for (const int which : {-1, number}) {
    const auto error = state.errors.find({function, which});
    if (error != state.errors.end() && error->second != kSuccess) return error->second;
  }
  return answer();
}

/// The same for a function of a GPU.
template <typename Answer>
Result ask(const char* function, Device device, int number, const Answer& answer) {
  return call(function, number, [&] {
    const auto* const gpu = static_cast<const Gpu*>(device);
    const bool isKnown = gpu == &state.gpus[0] || gpu == &state.gpus[1];
    if (state.users > 0 && isKnown) return answer(*gpu);
    ++state.misuses;
    return state.users == 0 ? kUninitialized : kInvalidArgument;
  });
}

template <typename Value>
Result give(const char* function, Device device, Value* place, Value value, int number = 0) {
  return ask(function, device, number, [&](const Gpu&) {
    *place = value;
    return kSuccess;
  });
}

}  // namespace

extern "C" {

void fakeNvmlReset() {
  const std::lock_guard lock(mutex);
  state = State();
}

void fakeNvmlSetClock(unsigned number, unsigned megahertz) {
  const std::lock_guard lock(mutex);
  state.gpus.at(number).megahertz = megahertz;
}

void fakeNvmlSetMemory(unsigned long long own, unsigned long long others, bool isListed) {
  const std::lock_guard lock(mutex);
  state.own = own;
  state.others = others;
  state.isListed = isListed;
}

void fakeNvmlFail(const char* function, int error, int number) {
  const std::lock_guard lock(mutex);
  state.errors[{function, number}] = error;
}

std::int64_t fakeNvmlCalls() {
  const std::lock_guard lock(mutex);
  return state.calls;
}

std::int64_t fakeNvmlCallsOfThisThread() { return callsOfThisThread; }

int fakeNvmlUsers() {
  const std::lock_guard lock(mutex);
  return state.users;
}

int fakeNvmlMisuses() {
  const std::lock_guard lock(mutex);
  return state.misuses;
}

Result nvmlInit_v2() {
  return call("nvmlInit_v2", 0, [] {
    ++state.users;
    return kSuccess;
  });
}

Result nvmlShutdown() {
  return call("nvmlShutdown", 0, [] {
    --state.users;
    return kSuccess;
  });
}

Result nvmlDeviceGetHandleByUUID(const char* uuid, Device* device) {
  return call("nvmlDeviceGetHandleByUUID", 0, [&] {
    for (Gpu& gpu : state.gpus) {
      if (std::strcmp(gpu.uuid, uuid) != 0) continue;
      *device = &gpu;
      return kSuccess;
    }
    return kNotFound;
  });
}

Result nvmlDeviceGetClockInfo(Device device, int type, unsigned* megahertz) {
  return ask("nvmlDeviceGetClockInfo", device, type, [&](const Gpu& gpu) {
    *megahertz = type == 1 ? gpu.megahertz : 1;
    return kSuccess;
  });
}

Result nvmlDeviceGetPowerUsage(Device device, unsigned* milliwatts) {
  return give("nvmlDeviceGetPowerUsage", device, milliwatts, 612'345U);
}

Result nvmlDeviceGetEnforcedPowerLimit(Device device, unsigned* milliwatts) {
  return give("nvmlDeviceGetEnforcedPowerLimit", device, milliwatts, 700'000U);
}

Result nvmlDeviceGetTemperature(Device device, int sensor, unsigned* celsius) {
  return give("nvmlDeviceGetTemperature", device, celsius, sensor == 0 ? 71U : 1U);
}

#ifndef PIPETRACE_OLDER_NVML
Result nvmlDeviceGetCurrentClocksEventReasons(Device device, unsigned long long* mask) {
  return give("nvmlDeviceGetCurrentClocksEventReasons", device, mask, 0x24ULL);
}
#endif

Result nvmlDeviceGetCurrentClocksThrottleReasons(Device device, unsigned long long* mask) {
  return give("nvmlDeviceGetCurrentClocksThrottleReasons", device, mask, 0x44ULL);
}

Result nvmlDeviceGetViolationStatus(Device device, int policy, Violation* violation) {
  // More than a float holds.
  const unsigned long long time = 123'456'789'012'345ULL + static_cast<unsigned>(policy);
  return give("nvmlDeviceGetViolationStatus", device, violation,
              {.referenceTime = 1, .violationTime = time}, policy);
}

Result nvmlDeviceGetNvLinkState(Device device, unsigned link, int* linkState) {
  return ask("nvmlDeviceGetNvLinkState", device, static_cast<int>(link), [&](const Gpu&) {
    *linkState = link == 1 ? 0 : 1;
    return link < 18 ? kSuccess : kInvalidArgument;
  });
}

Result nvmlDeviceGetNvLinkErrorCounter(Device device, unsigned link, int kind,
                                       unsigned long long* count) {
  unsigned long long errors = link == 1 ? 5000 : 1;
  for (int i = 0; i < kind; ++i) errors *= 10;
  return give("nvmlDeviceGetNvLinkErrorCounter", device, count, errors, kind);
}

Result nvmlDeviceGetMemoryInfo_v2(Device device, Memory* memory) {
  return ask("nvmlDeviceGetMemoryInfo_v2", device, 0, [&](const Gpu&) {
    if (memory->version != 0x2000028) {
      ++state.misuses;
      return kInvalidArgument;
    }
    memory->total = 80'000'000'000;
    memory->reserved = 600'000'000;
    memory->free = memory->total - memory->reserved - state.own - state.others;
    memory->used = memory->total - memory->free;
    return kSuccess;
  });
}

Result nvmlDeviceGetComputeRunningProcesses_v3(Device device, unsigned* count, Process* processes) {
  return ask("nvmlDeviceGetComputeRunningProcesses_v3", device, 0, [&](const Gpu&) {
    const unsigned room = std::exchange(*count, state.isListed ? 3 : 1);
    if (room < *count) return kInsufficientSize;
    processes[0] = {.pid = 1, .usedMemory = state.others};
    if (!state.isListed) return kSuccess;
    processes[1] = std::exchange(processes[0], {.pid = static_cast<unsigned>(getpid())});
    processes[2] = processes[0];
    const bool isKnown = state.own != kNotAvailable;
    processes[0].usedMemory = isKnown ? state.own / 3 : kNotAvailable;
    processes[2].usedMemory = isKnown ? state.own - state.own / 3 : kNotAvailable;
    return kSuccess;
  });
}
}
