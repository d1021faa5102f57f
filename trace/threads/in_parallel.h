#pragma once

#include <cstddef>
#include <functional>

namespace pipetrace {

/// Calls `work` with each number below `count`, in no particular order, and waits for all calls.
/// Uses that many threads (0: one per core); the calling thread is one of them. When calls throw,
/// it throws the first exception, after the other calls have ended.
void inParallel(int threads, std::size_t count, const std::function<void(std::size_t)>& work);

}  // namespace pipetrace
