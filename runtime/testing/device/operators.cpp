#include "runtime/testing/device/operators.h"

#include <ATen/EmptyTensor.h>
#include <ATen/native/transformers/attention.h>
#include <ATen/ops/_fused_sdp_choice.h>
#include <ATen/ops/set_native.h>
#include <c10/core/DeviceGuard.h>
#include <torch/library.h>

#include <deque>
#include <optional>
#include <set>
#include <string>
#include <unordered_set>

#include "runtime/testing/device/boxed_call.h"
#include "runtime/testing/device/device_copies.h"
#include "runtime/testing/device/device_memory.h"

namespace pipetrace::test_device {
namespace {

using c10::DispatchKey;
using c10::DispatchKeySet;

at::Tensor empty(c10::IntArrayRef sizes, std::optional<c10::ScalarType> type,
                 std::optional<c10::Layout> /*layout*/, std::optional<c10::Device> device,
                 std::optional<bool> /*pinned*/, std::optional<c10::MemoryFormat> format) {
  const c10::DeviceGuard guard(c10::device_or_default(device));
  return at::detail::empty_generic(sizes, &deviceAllocator(),
                                   DispatchKeySet(DispatchKey::PrivateUse1),
                                   c10::dtype_or_default(type), format);
}

at::Tensor emptyStrided(c10::IntArrayRef sizes, c10::IntArrayRef strides,
                        std::optional<c10::ScalarType> type, std::optional<c10::Layout> /*layout*/,
                        std::optional<c10::Device> device, std::optional<bool> /*pinned*/) {
  const c10::DeviceGuard guard(c10::device_or_default(device));
  return at::detail::empty_strided_generic(sizes, strides, &deviceAllocator(),
                                           DispatchKeySet(DispatchKey::PrivateUse1),
                                           c10::dtype_or_default(type));
}

at::Tensor& setTensor(at::Tensor& self, const at::Tensor& source) {
  return at::native::set_tensor_(self, source);
}
at::Tensor& setStorage(at::Tensor& self, at::Storage source) {
  return at::native::set_(self, std::move(source));
}
at::Tensor& setStorageOffset(at::Tensor& self, at::Storage source, std::int64_t offset,
                             c10::IntArrayRef sizes, c10::IntArrayRef strides) {
  return at::native::set_storage_cpu_(self, std::move(source), offset, sizes, strides);
}

void recordStream(at::Tensor& self, c10::Stream stream) {
  deviceAllocator().recordStream(self.storage().data_ptr(), stream);
}

/// Without it Module::to() and set_data() between CPU and device throw.
bool canShareShallowCopy(const at::Tensor& /*a*/, const at::Tensor& /*b*/) { return true; }

/// scaled_dot_product_attention asks this instead of an operator, and calculates in another way
/// than on the CPU without it.
std::int64_t chooseAttention(const at::Tensor& query, const at::Tensor& key,
                             const at::Tensor& value, const std::optional<at::Tensor>& mask,
                             double dropout, bool isCausal, std::optional<double> scale,
                             bool grouped) {
  const bool hasMask = mask && mask->defined() && mask->is_privateuseone();
  return at::_fused_sdp_choice(onCpu(query), onCpu(key), onCpu(value),
                               hasMask ? std::optional(onCpu(*mask)) : mask, dropout, isCausal,
                               scale, grouped);
}

const std::unordered_set<c10::OperatorName>& cpuOperators() {
  static const auto* const names = [] {
    auto* const found = new std::unordered_set<c10::OperatorName>;
    auto& dispatcher = c10::Dispatcher::singleton();
    for (const c10::OperatorName& name : dispatcher.getAllOpNames()) {
      const auto op = dispatcher.findOp(name);
      if (name.name.rfind("aten::", 0) == 0 && op &&
          op->hasKernelForDispatchKey(DispatchKey::CPU)) {
        found->insert(name);
      }
    }
    return found;
  }();
  return *names;
}

/// Kernels stay registered while their library lives, which is for ever.
torch::Library& libraryFor(const char* space, DispatchKey key) {
  static auto* const libraries = new std::deque<torch::Library>;
  return libraries->emplace_back(torch::Library::IMPL, space, key, __FILE__, __LINE__);
}

auto boxedKernel() { return torch::CppFunction::makeFromBoxedFunction<&callOnCpu>(); }

}  // namespace

bool hasCpuKernel(const c10::OperatorName& name) { return cpuOperators().count(name) > 0; }

void registerOperators() {
  torch::Library& aten = libraryFor("aten", DispatchKey::PrivateUse1);
  aten.impl("empty.memory_format", &empty);
  aten.impl("empty_strided", &emptyStrided);
  aten.impl("_copy_from", &copyFrom);
  aten.impl("_copy_from_and_resize", &copyFromAndResize);
  aten.impl("_local_scalar_dense", &itemOf);
  aten.impl("record_stream", &recordStream);
  aten.impl("_has_compatible_shallow_copy_type", &canShareShallowCopy);
  aten.impl("set_.source_Tensor", &setTensor);
  aten.impl("set_.source_Storage", &setStorage);
  aten.impl("set_.source_Storage_storage_offset", &setStorageOffset);
  // A fallback is not enough. An operator that can be made of others, such as native_layer_norm,
  // never reaches it. It is made of others than on the CPU then, with other bits. With the kernel
  // under each operator's own name, the device makes operators of others exactly where the CPU
  // does.
  const std::set<std::string> own{"aten::empty.memory_format",
                                  "aten::empty_strided",
                                  "aten::_copy_from",
                                  "aten::_copy_from_and_resize",
                                  "aten::_local_scalar_dense",
                                  "aten::record_stream",
                                  "aten::set_.source_Tensor",
                                  "aten::set_.source_Storage",
                                  "aten::set_.source_Storage_storage_offset",
                                  "aten::copy_"};  // it calls _copy_from
  for (const c10::OperatorName& name : cpuOperators()) {
    const std::string text = c10::toString(name);
    if (own.count(text) == 0) aten.impl(text.c_str(), boxedKernel());
  }
  // The CPU has no kernel of its own for these, and other devices are sent to one that throws.
  aten.impl("convolution", boxedKernel());
  aten.impl("convolution_backward", boxedKernel());
  libraryFor("_", DispatchKey::PrivateUse1).fallback(boxedKernel());
  // Without these a copy of a conjugate or negative tensor never ends.
  for (const DispatchKey key : {DispatchKey::Conjugate, DispatchKey::Negative}) {
    libraryFor("aten", key).impl("_copy_from", torch::CppFunction::makeFallthrough());
  }
  at::native::_fused_sdp_choice_stub.set_privateuse1_dispatch_ptr(&chooseAttention);
}

}  // namespace pipetrace::test_device
