#pragma once

#include <cstddef>
#include <functional>

namespace pipetrace {

/// Calls `work` with each number below `count` on so many threads (0: one per core), the calling
/// one among them, and waits for all of it. In which order is not defined. What the first call that
/// fails throws, it throws, after the others have ended.
void inParallel(int threads, std::size_t count, const std::function<void(std::size_t)>& work);

}  // namespace pipetrace
