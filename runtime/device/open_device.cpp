#include "runtime/device/open_device.h"

#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <dlfcn.h>

#include <cstdlib>

#include "trace/error.h"

namespace pipetrace {
namespace {

/// 0 as well where the kind of device is not known.
int countOf(c10::DeviceType type) {
  if (!c10::impl::hasDeviceGuardImpl(type)) return 0;
  return c10::impl::VirtualGuardImpl(type).deviceCount();
}

/// Without a driver no library helps.
void requireDriver() {
  // It stays loaded; LibTorch's library needs it.
  if (dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL) != nullptr) return;
  const char* const why = dlerror();
  throw Error(
      "cannot train on CUDA devices: this machine has no NVIDIA GPU, or no driver for it (" +
      std::string(why != nullptr ? why : "no reason was given") +
      "). Train with --device cpu, or install the driver first");
}

void loadCuda() {
  requireDriver();
  // Not linked: it needs a dozen libraries that are only where somebody trains on GPUs.
  if (dlopen("libtorch_cuda.so", RTLD_NOW | RTLD_GLOBAL) == nullptr) {
    const char* const why = dlerror();
    throw Error("cannot train on CUDA devices: LibTorch's library for them was not loaded (" +
                std::string(why != nullptr ? why : "no reason was given") +
                "). bash tools/setup.sh --cuda installs what it needs");
  }
  if (!at::detail::getCUDAHooks().hasCUDA() && countOf(c10::kCUDA) > 0) {
    throw Error("openDevices(\"cuda\") came too late: LibTorch has looked for CUDA before");
  }
  if (countOf(c10::kCUDA) > 0) return;
  const char* const visible = std::getenv("CUDA_VISIBLE_DEVICES");
  throw Error("cannot train on CUDA devices: " +
              (visible == nullptr
                   ? std::string("there is no driver or no device")
                   : "no device is visible, with CUDA_VISIBLE_DEVICES=" + std::string(visible)));
}

}  // namespace

c10::DeviceType openDevices(const std::string& name) {
  if (name == "cpu") return c10::kCPU;
  if (name != "cuda") throw Error("there is no device " + name + "; it is cpu or cuda");
  loadCuda();
  return c10::kCUDA;
}

c10::Device deviceOfRank(c10::DeviceType type, int place, bool share) {
  if (type == c10::kCPU) return type;
  const int count = countOf(type);
  if (place >= count && !(share && count > 0)) {
    throw Error("rank " + std::to_string(place) +
                " of this machine needs a device of its own, and " +
                (count == 0   ? std::string("there is none")
                 : count == 1 ? std::string("there is one")
                              : "there are " + std::to_string(count)) +
                "; --share-devices lets ranks share them");
  }
  return {type, static_cast<c10::DeviceIndex>(place % count)};
}

}  // namespace pipetrace
