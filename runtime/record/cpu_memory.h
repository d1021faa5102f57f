#pragma once

#include "profiler/recorder.h"

namespace pipetrace {

/// Counter `cpu_memory_allocated` of a recorder: the bytes that this process's malloc has given
/// out, which is where LibTorch's allocator of the CPU gets its memory. That allocator itself keeps
/// figures only for LibTorch's profiler, and then warns of all it did not see being made.
void addCpuMemory(Recorder& recorder);

}  // namespace pipetrace
