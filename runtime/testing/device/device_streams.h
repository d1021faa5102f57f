#pragma once

#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

namespace pipetrace::test_device {

/// Devices, streams and events, as LibTorch asks for them.
const c10::impl::DeviceGuardImplInterface& deviceGuard();
/// The rest that LibTorch asks a device: generators, pinned memory.
at::PrivateUse1HooksInterface& deviceInterface();

}  // namespace pipetrace::test_device
