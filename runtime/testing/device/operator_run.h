#pragma once

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/record_function.h>

#include <memory>
#include <string>

#include "runtime/testing/device/device_state.h"

namespace pipetrace::test_device {

/// One operator on a stream, from its hooks to the host's wait for it.
class OperatorRun {
 public:
  /// Calls the hook of failOperators(), which may throw. `name` lives as long as the process.
  OperatorRun(const std::string& name, c10::Stream stream);

  /// Under the lock.
  Operation enqueue();
  /// Calls the CPU's kernel. Without the lock.
  template <typename Kernel>
  void carryOut(Kernel kernel) const {
    const std::int64_t begin = beginTime();
    {
      // The caller's autograd kernel has excluded these keys, but in inference mode there is none.
      const at::AutoDispatchBelowAutograd belowAutograd;
      const at::DisableRecordFunctionGuard unseen;
      kernel();
    }
    reportTime(begin);
  }
  /// The host needs a result and waits for the stream. Under the lock.
  void waitOnHost() const;

  int actor() const { return actor_; }

 private:
  std::int64_t beginTime() const;
  void reportTime(std::int64_t begin) const;

  const std::string& name_;
  const c10::Stream stream_;
  const std::shared_ptr<const DeviceHooks> hooks_;
  int actor_ = kNobody;
};

}  // namespace pipetrace::test_device
