#include "profiler/nvml/library.h"

#include <dlfcn.h>

#include <type_traits>

namespace pipetrace::nvml {

bool Library::load() noexcept {
  // Never closed: the program may be using it.
  void* const library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return false;
  const auto find = [library](auto& function, const char* name, const char* olderName = nullptr) {
    void* found = dlsym(library, name);
    if (found == nullptr && olderName != nullptr) found = dlsym(library, olderName);
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(found);
  };
  find(init, "nvmlInit_v2");
  find(shutdown, "nvmlShutdown");
  find(deviceByUuid, "nvmlDeviceGetHandleByUUID");
  find(clock, "nvmlDeviceGetClockInfo");
  find(power, "nvmlDeviceGetPowerUsage");
  find(powerLimit, "nvmlDeviceGetEnforcedPowerLimit");
  find(temperature, "nvmlDeviceGetTemperature");
  find(clockEventReasons, "nvmlDeviceGetCurrentClocksEventReasons",
       "nvmlDeviceGetCurrentClocksThrottleReasons");
  find(violation, "nvmlDeviceGetViolationStatus");
  find(linkState, "nvmlDeviceGetNvLinkState");
  find(linkErrors, "nvmlDeviceGetNvLinkErrorCounter");
  // Both as of driver 510. Older ones count what the driver reserves for itself as used.
  find(memory, "nvmlDeviceGetMemoryInfo_v2");
  find(processes, "nvmlDeviceGetComputeRunningProcesses_v3");
  return true;
}

}  // namespace pipetrace::nvml
