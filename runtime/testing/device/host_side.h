#pragma once

#include <string>

#include "runtime/testing/device/memory_uses.h"

namespace pipetrace::test_device {

/// The calling thread has waited, or acquired a token. It knows what the clock knows, and sees the
/// copies to pinned memory that are over. Under the lock.
void hostLearns(const VectorClock& completed);
/// The same with a count of that wait.
void hostWaits(const VectorClock& completed, std::int64_t HostWaits::*kind);

/// Carries out the held copies to the host tensor's memory (null: to any) that `completed` knows.
/// Under the lock.
void releaseHeldCopies(const VectorClock& completed, const at::Tensor* host);
/// Carries out all of them.
void releaseAllHeldCopies();

/// The calling thread uses the tensor, which does nothing unless it is pinned. `name` lives as long
/// as the process.
void useOnHost(const at::Tensor& tensor, Use use, const std::string& name);
void startWatchingCpuOperators();
void stopWatchingCpuOperators();

}  // namespace pipetrace::test_device
