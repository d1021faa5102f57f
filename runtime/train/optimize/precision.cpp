#include "runtime/train/optimize/precision.h"

#include <ATen/autocast_mode.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include "trace/error.h"

namespace pipetrace {

namespace {

c10::ScalarType typeOf(Precision precision) {
  return precision == Precision::kBf16 ? at::kBFloat16 : at::kHalf;
}

bool hasAutocast(c10::DeviceType device) {
  if (!at::autocast::is_autocast_available(device)) return false;
  const c10::DispatchKey key = at::autocast::get_autocast_dispatch_key_from_device_type(device);
  return c10::Dispatcher::singleton()
      .findSchemaOrThrow("aten::mm", "")
      .hasKernelForDispatchKey(key);
}

}  // namespace

const char* nameOf(Precision precision) {
  switch (precision) {
    case Precision::kFp32: break;
    case Precision::kBf16: return "bf16";
    case Precision::kFp16: return "fp16";
  }
  return "fp32";
}

Precision precisionOf(const std::string& name) {
  if (name == "fp32") return Precision::kFp32;
  if (name == "bf16") return Precision::kBf16;
  if (name == "fp16") return Precision::kFp16;
  throw Error("there is no precision " + name + "; there are fp32, bf16 and fp16");
}

void requireAutocast(Precision precision, c10::DeviceType device) {
  if (precision == Precision::kFp32 || hasAutocast(device)) return;
  throw Error("cannot train in mixed precision on " + c10::DeviceTypeName(device, true) +
              " devices: they bring no kernels for autocast");
}

Autocast::Autocast(Precision precision, c10::DeviceType device)
    : precision_(precision), device_(device) {
  if (precision_ == Precision::kFp32) return;
  wasEnabled_ = at::autocast::is_autocast_enabled(device_);
  wasCacheEnabled_ = at::autocast::is_autocast_cache_enabled();
  type_ = at::autocast::get_autocast_dtype(device_);
  at::autocast::set_autocast_enabled(device_, true);
  at::autocast::set_autocast_cache_enabled(false);
  at::autocast::set_autocast_dtype(device_, typeOf(precision_));
}

Autocast::~Autocast() {
  if (precision_ == Precision::kFp32) return;
  at::autocast::set_autocast_enabled(device_, wasEnabled_);
  at::autocast::set_autocast_cache_enabled(wasCacheEnabled_);
  at::autocast::set_autocast_dtype(device_, type_);
}

}  // namespace pipetrace
