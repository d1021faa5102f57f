#pragma once

#include <c10/core/DeviceType.h>
#include <c10/core/ScalarType.h>

#include <string>

namespace pipetrace {

/// In what type the blocks compute, and so that of the messages they make. Parameters, sums of
/// gradients and what the optimizer keeps are fp32 always.
enum class Precision {
  kFp32,  ///< in the types of their tensors
  kBf16,  ///< LibTorch's autocast to bfloat16
  kFp16,  ///< LibTorch's autocast to float16; small gradients need a LossScale
};

/// "fp32", "bf16" or "fp16". Throws Error for another name.
Precision precisionOf(const std::string& name);
/// The reverse.
const char* nameOf(Precision precision);

/// Throws Error if LibTorch's autocast has no kernels for these devices. It has them for the CPU
/// and CUDA. Devices of others (PrivateUse1) bring them along, or do not.
void requireAutocast(Precision precision, c10::DeviceType device);

/// While it lives, operators of this thread run under autocast, as within Python's
/// `torch.autocast(device, dtype, cache_enabled=False)`; for kFp32 as before. Autocast's cache of
/// weights is off: all threads share it, and it would miss that a weight version is another one.
///
/// Threads: one.
class Autocast {
 public:
  Autocast(Precision precision, c10::DeviceType device);
  ~Autocast();
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;

 private:
  const Precision precision_;
  const c10::DeviceType device_;
  bool wasEnabled_ = false;
  bool wasCacheEnabled_ = true;
  c10::ScalarType type_ = c10::ScalarType::Undefined;  // before
};

}  // namespace pipetrace
