#pragma once

#include "profiler/recorder.h"

namespace pipetrace {

/// Counter `cpu_memory_allocated` of a recorder: the bytes that this process's malloc has given
/// out. LibTorch's CPU allocator gets its memory there. That allocator keeps figures only for
/// LibTorch's profiler, and then warns of all memory that it did not see being allocated.
void addCpuMemory(Recorder& recorder);

}  // namespace pipetrace
