#pragma once

#include <c10/core/Device.h>

#include <string>

namespace pipetrace {

/// The kind of device with that name: "cpu", or "cuda", for which LibTorch's library is loaded.
/// Call it before LibTorch's generators are used or seeded: they look for devices once. Throws
/// Error that says what is missing: the name, the library, a driver or a device.
c10::DeviceType openDevices(const std::string& name);

/// The device of the rank at that place: its number in a process that has all ranks as threads,
/// LOCAL_RANK in one that has a rank. `share`: several ranks may have one, in turn. Throws Error if
/// there are too few.
c10::Device deviceOfRank(c10::DeviceType type, int place, bool share);

}  // namespace pipetrace
