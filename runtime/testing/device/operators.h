#pragma once

#include <ATen/core/operator_name.h>

namespace pipetrace::test_device {

/// Whether the operator is one of ATen's and has a kernel of its own for the CPU. Others are made
/// of those that have.
bool hasCpuKernel(const c10::OperatorName& name);

/// Gives LibTorch the kernels of the device.
void registerOperators();

}  // namespace pipetrace::test_device
