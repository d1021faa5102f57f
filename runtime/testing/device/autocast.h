#pragma once

namespace pipetrace::test_device {

/// Gives LibTorch the device's kernels for autocast: it casts for the operators of the tests'
/// models as the CPU does, so that bits are the same. LibTorch brings none for PrivateUse1.
void registerAutocast();

}  // namespace pipetrace::test_device
