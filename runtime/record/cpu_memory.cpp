#include "runtime/record/cpu_memory.h"

#include <malloc.h>

namespace pipetrace {

void addCpuMemory(Recorder& recorder) {
  recorder.addCounter("cpu_memory_allocated", "bytes", [] {
    const struct mallinfo2 figures = mallinfo2();
    return static_cast<double>(figures.uordblks + figures.hblkhd);  // in heaps, in mappings
  });
}

}  // namespace pipetrace
