#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

namespace pipetrace::test_device {

/// The kernel of the device for any operator: the CPU's, on tensors over the same memory.
void callOnCpu(const c10::OperatorHandle& op, torch::jit::Stack* stack);

}  // namespace pipetrace::test_device
