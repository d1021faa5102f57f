#include "runtime/testing/device/boxed_call.h"

#include <optional>
#include <set>
#include <utility>

#include "runtime/testing/device/device_memory.h"
#include "runtime/testing/device/device_state.h"
#include "runtime/testing/device/host_side.h"
#include "runtime/testing/device/operator_run.h"

namespace pipetrace::test_device {
namespace {

/// The size of their result depends on numbers in device memory, so on CUDA the host waits.
bool isSizedByContent(const std::string& name) {
  static const std::set<std::string> names{
      "aten::nonzero",          "aten::masked_select",      "aten::_unique",
      "aten::_unique2",         "aten::unique_consecutive", "aten::unique_dim",
      "aten::repeat_interleave"};
  return names.count(name) > 0;
}

/// On CUDA these take indices that are on the CPU.
bool takesCpuIndices(const std::string& name) {
  return name.rfind("aten::index", 0) == 0 || name.rfind("aten::_index", 0) == 0;
}

class BoxedCall {
 public:
  BoxedCall(const c10::OperatorHandle& op, torch::jit::Stack& stack)
      : op_(op), name_(op.schema().operator_name().name), stack_(stack) {}

  void run() {
    takeArguments();
    OperatorRun run(name_, currentStream(device_->index()));
    {
      const StateLock lock(deviceState().mutex);
      operation_ = run.enqueue();
      for (const Argument& argument : arguments_) use(argument);
    }
    run.carryOut([&] { op_.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), &stack_); });
    const StateLock lock(deviceState().mutex);
    followArguments();
    const bool givesNumber = wrapResults();
    if (givesNumber || hostMustKnow_) run.waitOnHost();
  }

 private:
  /// A tensor of the device, and the one that stands in for it.
  struct Argument {
    at::Tensor onDevice;
    at::Tensor onCpu;
    std::optional<Use> use;  ///< none: the operator makes a view of it
  };

  void takeArguments() {
    const auto& arguments = op_.schema().arguments();
    const std::size_t first = stack_.size() - arguments.size();
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      replace(stack_[first + i], arguments[i].alias_info());
    }
    TORCH_CHECK(device_, "test device: ", name_, " names no device");
    if (!device_->has_index()) device_ = c10::Device(kType, thisThread().device);
    TORCH_CHECK(!takesCpuTensor_ || takesCpuIndices(name_), name_,
                ": expected all tensors to be on the same device, but found ", *device_,
                " and cpu");
    hostMustKnow_ = hostMustKnow_ || isSizedByContent(name_);
  }

  void replace(c10::IValue& value, const c10::AliasInfo* alias) {
    if (value.isTensor()) {
      value = standIn(value.toTensor(), alias);
    } else if (value.isTensorList()) {
      c10::List<at::Tensor> list;
      for (const at::Tensor& tensor : value.toTensorVector()) {
        list.push_back(standIn(tensor, alias));
      }
      value = std::move(list);
    } else if (value.isOptionalTensorList()) {
      c10::List<std::optional<at::Tensor>> list;
      for (const auto& tensor : value.toOptionalTensorVector()) {
        list.push_back(tensor ? std::optional(standIn(*tensor, alias)) : std::nullopt);
        hostMustKnow_ = hostMustKnow_ || (tensor && isMask(*tensor));
      }
      value = std::move(list);
    } else if (value.isDevice()) {
      if (!device_) device_ = value.toDevice();
      value = c10::Device(c10::kCPU);
    }
  }

  static bool isMask(const at::Tensor& index) {
    return index.is_privateuseone() &&
           (index.scalar_type() == at::kBool || index.scalar_type() == at::kByte);
  }

  at::Tensor standIn(const at::Tensor& tensor, const c10::AliasInfo* alias) {
    if (!tensor.defined()) return tensor;
    if (!tensor.is_privateuseone()) {
      takesCpuTensor_ = takesCpuTensor_ || tensor.dim() > 0;  // a number may be anywhere
      return tensor;
    }
    TORCH_CHECK(!device_ || *device_ == tensor.device(), name_,
                ": expected all tensors to be on the same device, but found ", *device_, " and ",
                tensor.device());
    device_ = tensor.device();
    std::optional<Use> use = Use::kRead;
    if (alias != nullptr) use = alias->isWrite() ? std::optional(Use::kWrite) : std::nullopt;
    arguments_.push_back({tensor, onCpu(tensor), use});
    return arguments_.back().onCpu;
  }

  void use(const Argument& argument) const {
    if (argument.use) useMemory(argument.onDevice, *argument.use, operation_);
  }

  void followArguments() const {
    for (const Argument& argument : arguments_) {
      if (argument.use == Use::kWrite && followCpu(argument.onDevice, argument.onCpu)) {
        use(argument);
      }
    }
  }

  /// Whether the operator gives a number instead of tensors.
  bool wrapResults() const {
    const std::size_t results = op_.schema().returns().size();
    bool hasTensors = results == 0;
    for (std::size_t i = stack_.size() - results; i < stack_.size(); ++i) {
      c10::IValue& value = stack_[i];
      if (value.isTensor()) {
        value = wrap(value.toTensor());
      } else if (value.isTensorList()) {
        c10::List<at::Tensor> list;
        for (const at::Tensor& tensor : value.toTensorVector()) list.push_back(wrap(tensor));
        value = std::move(list);
      } else {
        continue;
      }
      hasTensors = true;
    }
    return !hasTensors;
  }

  at::Tensor wrap(const at::Tensor& result) const {
    if (!result.defined() || result.is_privateuseone()) return result;
    for (const Argument& argument : arguments_) {  // in place, or an argument `out`
      if (result.is_same(argument.onCpu)) return argument.onDevice;
    }
    TORCH_CHECK(result.layout() == c10::kStrided, "test device: the result of ", name_,
                " has no strides");
    const auto* const storage = result.storage().unsafeGetStorageImpl();
    for (const Argument& argument : arguments_) {
      if (storage == argument.onCpu.storage().unsafeGetStorageImpl()) {
        return onDevice(argument.onDevice.storage(), result);
      }
    }
    const Access write = accessOf(result, operation_);
    c10::DataPtr memory = toDeviceMemory(result.storage(), *device_, &write);
    return onDevice(c10::Storage(c10::Storage::use_byte_size_t(), result.storage().nbytes(),
                                 std::move(memory), &deviceAllocator(), true),
                    result);
  }

  const c10::OperatorHandle& op_;
  const std::string& name_;
  torch::jit::Stack& stack_;
  c10::SmallVector<Argument, 8> arguments_;
  std::optional<c10::Device> device_;
  Operation operation_;
  bool takesCpuTensor_ = false;
  bool hostMustKnow_ = false;
};

}  // namespace

void callOnCpu(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  BoxedCall(op, *stack).run();
}

}  // namespace pipetrace::test_device
