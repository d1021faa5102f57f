#pragma once

#include <cstddef>

/// The part of NVML, the management library of NVIDIA's driver, that recording calls. Its types and
/// numbers are declared here, because the build needs no toolkit; NVML's own names are in nvml.h.
namespace pipetrace::nvml {

using Result = int;
using Device = void*;
inline constexpr Result kSuccess = 0;

inline constexpr int kSmClock = 1;         ///< NVML_CLOCK_SM
inline constexpr int kDieTemperature = 0;  ///< NVML_TEMPERATURE_GPU

/// NVML_PERF_POLICY_...: what keeps clocks down.
inline constexpr int kPowerPolicy = 0;
inline constexpr int kThermalPolicy = 1;
inline constexpr int kBoardLimitPolicy = 3;
inline constexpr int kReliabilityPolicy = 5;

inline constexpr unsigned kMostLinks = 36;  ///< NVML_NVLINK_MAX_LINKS of version 13
inline constexpr int kLinkIsUp = 1;         ///< NVML_FEATURE_ENABLED
/// NVML_NVLINK_ERROR_DL_...: replays, recoveries, wrong checksums of flow control and of data.
inline constexpr int kLinkErrors = 4;

/// nvmlViolationTime_t.
struct Violation {
  unsigned long long referenceTime;  ///< us
  unsigned long long violationTime;  ///< ns
};

/// nvmlMemory_v2_t, in bytes. Whether `used` counts what is reserved depends on the driver.
struct Memory {
  unsigned version;
  unsigned long long total;
  unsigned long long reserved;
  unsigned long long free;
  unsigned long long used;
};
inline constexpr unsigned kMemoryVersion = sizeof(Memory) | 2U << 24;

/// nvmlProcessInfo_v2_t.
struct Process {
  unsigned pid;
  unsigned long long usedMemory;  ///< bytes, or kNotAvailable
  unsigned gpuInstance;
  unsigned computeInstance;
};
inline constexpr unsigned long long kNotAvailable = ~0ULL;

static_assert(sizeof(void*) == 8 && sizeof(Memory) == 40 && offsetof(Memory, total) == 8 &&
                  sizeof(Process) == 24 && offsetof(Process, usedMemory) == 8,
              "the layout of NVML's own declarations on 64-bit Linux");

/// NVML's functions; null where the driver has none of that name. All are thread-safe.
struct Library {
  Result (*init)();
  Result (*shutdown)();
  Result (*deviceByUuid)(const char* uuid, Device* device);
  Result (*clock)(Device device, int type, unsigned* megahertz);
  Result (*power)(Device device, unsigned* milliwatts);
  Result (*powerLimit)(Device device, unsigned* milliwatts);
  Result (*temperature)(Device device, int sensor, unsigned* celsius);
  Result (*clockEventReasons)(Device device, unsigned long long* mask);
  Result (*violation)(Device device, int policy, Violation* violation);
  Result (*linkState)(Device device, unsigned link, int* state);
  Result (*linkErrors)(Device device, unsigned link, int kind, unsigned long long* count);
  Result (*memory)(Device device, Memory* memory);
  /// `count`: how many there is room for, then how many there are.
  Result (*processes)(Device device, unsigned* count, Process* processes);

  /// Loads libnvidia-ml.so.1 for good, and looks its functions up. False: it is not there.
  bool load() noexcept;
};

/// Whether the driver has the function, and it worked.
template <typename... Parameters, typename... Arguments>
bool worked(Result (*function)(Parameters...), Arguments... arguments) noexcept {
  return function != nullptr && function(arguments...) == kSuccess;
}

}  // namespace pipetrace::nvml
