#pragma once

#include <cstddef>
#include <cstdint>

namespace pipetrace {

/// The memory layout of NCCL 2.28's profiler interface, version 5. It is declared here, because
/// NCCL's headers do not hold it, and because the plugin is also built where there is no NCCL.
/// NCCL's own names are in its sources, src/include/plugin/profiler/profiler_v5.h.

/// Bits of NcclEventDescription::type and of the mask that init() sets.
namespace nccl_event {
inline constexpr std::uint64_t kCollective = 1U << 1;
inline constexpr std::uint64_t kPointToPoint = 1U << 2;
inline constexpr std::uint64_t kKernelChannel = 1U << 6;
inline constexpr std::uint64_t kCollectiveCall = 1U << 9;
inline constexpr std::uint64_t kPointToPointCall = 1U << 10;
}  // namespace nccl_event

/// The state in which a kernel channel reports when it stopped.
inline constexpr int kNcclKernelChannelStopped = 22;

struct NcclCollectiveCall {
  const char* function;
  std::size_t count;
  const char* dataType;
  int root;
  void* stream;
  bool graphCaptured;
};

struct NcclPointToPointCall {
  const char* function;
  std::size_t count;
  const char* dataType;
  void* stream;
  bool graphCaptured;
};

struct NcclCollective {
  std::uint64_t sequence;
  const char* function;
  const void* sendBuffer;
  void* receiveBuffer;
  std::size_t count;
  int root;
  const char* dataType;
  std::uint8_t channels;
  std::uint8_t warps;
  const char* algorithm;
  const char* protocol;
  void* parentGroup;
};

struct NcclPointToPoint {
  const char* function;
  void* buffer;
  const char* dataType;
  std::size_t count;
  int peer;  ///< rank in the communicator
  std::uint8_t channels;
  void* parentGroup;
};

struct NcclKernelChannel {
  std::uint8_t channel;
  std::uint64_t gpuTime;  ///< of the device's global timer, ns
};

/// The argument of startEvent(). `type` says which member of the union is set.
struct NcclEventDescription {
  std::uint64_t type;
  void* parent;  ///< handle of another event, or null
  int rank;      ///< in the communicator
  union {
    NcclCollectiveCall collectiveCall;
    NcclPointToPointCall pointToPointCall;
    NcclCollective collective;
    NcclPointToPoint pointToPoint;
    NcclKernelChannel kernelChannel;
  };
};

/// The argument of recordEventState(); may be null.
union NcclStateArguments {
  std::uint64_t gpuTime;
};

using NcclLogger = void (*)(int level, unsigned long subsystems, const char* file, int line,
                            const char* format, ...);

/// The table that NCCL looks up as `ncclProfiler_v5`. All functions return an ncclResult_t, 0 being
/// success.
struct NcclProfilerTable {
  const char* name;
  int (*init)(void** context, std::uint64_t communicator, int* eventMask, const char* name,
              int nodes, int ranks, int rank, NcclLogger log);
  int (*startEvent)(void* context, void** handle, NcclEventDescription* description);
  int (*stopEvent)(void* handle);
  int (*recordEventState)(void* handle, int state, NcclStateArguments* arguments);
  int (*finalize)(void* context);
};

static_assert(sizeof(void*) == 8 && offsetof(NcclEventDescription, collective) == 24 &&
                  offsetof(NcclCollective, dataType) == 48 &&
                  offsetof(NcclCollective, algorithm) == 64 &&
                  offsetof(NcclPointToPoint, peer) == 32 &&
                  offsetof(NcclKernelChannel, gpuTime) == 8 && sizeof(NcclProfilerTable) == 48,
              "the layout of NCCL's own declarations on 64-bit Linux");

}  // namespace pipetrace
