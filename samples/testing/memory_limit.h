#pragma once

namespace pipetrace {

/// From now on the system gives this process no more memory. Under AddressSanitizer, which takes
/// its own memory from the system, LibTorch gets no large tensor instead.
void limitMemory();

}  // namespace pipetrace
