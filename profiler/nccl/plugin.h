#pragma once

#include "profiler/nccl/abi.h"
#include "profiler/nccl/events.h"

/// The profiler plugin that NCCL finds by this name: in a program that exports it (link with
/// -rdynamic, and see useStaticNcclPlugin()), in libpipetrace.so, and, through that, in
/// libnccl-profiler-pipetrace.so. Its functions may be called from any thread, and always succeed,
/// also with null handles and late calls.
extern "C" {
extern const pipetrace::NcclProfilerTable ncclProfiler_v5 __attribute__((visibility("default")));
}

namespace pipetrace {

class NcclRecording;

/// Makes NCCL look for the plugin in the program itself, unless the user has named one
/// (NCCL_PROFILER_PLUGIN). Call it before the first communicator; no other thread may be reading
/// the environment.
void useStaticNcclPlugin();

/// The events of this process. Never destroyed, as NCCL's threads may outlive everything.
NcclEvents& ncclEvents();

/// Sends NCCL's events to `recording` from now on. False: another recording is attached.
bool attachNccl(NcclRecording& recording);
/// Returns when no call from NCCL is using it any more.
void detachNccl(NcclRecording& recording) noexcept;
/// The same in a forked child, which has no other thread that could be using it.
void abandonNccl(NcclRecording& recording) noexcept;

}  // namespace pipetrace
