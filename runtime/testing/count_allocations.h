#pragma once

#include <cstdint>

namespace pipetrace::testing {

/// Calls of operator new in this process so far, by any thread. Programs that link
/// count_allocations.cpp count them.
std::int64_t allocationCount();
/// The same, by the calling thread.
std::int64_t allocationsOfThread();

}  // namespace pipetrace::testing
