#include "runtime/starting_ranks/reuse_memory.h"

#include <climits>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace pipetrace {

void reuseFreedMemory() {
#if defined(__GLIBC__)
  constexpr int kLarge = 1 << 30;
  constexpr int kMostOfOldGlibc = 32 << 20;
  constexpr int kStep = 64 << 20;  // how much more is taken from the system at once
  if (mallopt(M_MMAP_THRESHOLD, kLarge) == 0) mallopt(M_MMAP_THRESHOLD, kMostOfOldGlibc);
  mallopt(M_TRIM_THRESHOLD, INT_MAX);
  mallopt(M_TOP_PAD, kStep);
#endif
}

}  // namespace pipetrace
