#include "runtime/testing/device/host_side.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/record_function.h>

#include <optional>
#include <vector>

#include "runtime/testing/device/device_memory.h"
#include "runtime/testing/device/device_state.h"
#include "runtime/testing/device/operators.h"

#ifndef NDEBUG
#error at::RecordFunction::inputs() asserts what LibTorch, compiled with NDEBUG, does not keep
#endif

namespace pipetrace::test_device {
namespace {

template <typename IsOver>
void releaseWhere(IsOver isOver) {
  auto& copies = deviceState().heldCopies;
  for (auto it = copies.begin(); it != copies.end();) {
    if (!isOver(*it)) {
      ++it;
      continue;
    }
    const at::AutoDispatchBelowADInplaceOrView belowAutograd;
    const at::DisableRecordFunctionGuard unseen;
    it->host.copy_(it->value);
    it = copies.erase(it);
  }
}

std::vector<at::Tensor> tensorsOf(const c10::IValue& value) {
  if (value.isTensor()) return {value.toTensor()};
  if (value.isTensorList()) return value.toTensorVector();
  return {};
}

/// A CPU operator begins.
std::unique_ptr<at::ObserverContext> seeCpuOperator(const at::RecordFunction& function) {
  const auto schema = function.operator_schema();
  const auto name = function.operator_name();
  // Others are made of those that have a kernel.
  if (!schema || !name || (!hasCpuKernel(*name) && name->name != "aten::copy_")) return nullptr;
  const auto inputs = function.inputs();
  for (const c10::IValue& input : inputs) {
    if (input.isTensor() && input.toTensor().is_privateuseone()) return nullptr;
  }
  const StateLock lock(deviceState().mutex);
  for (std::size_t i = 0; i < std::min(inputs.size(), schema->arguments().size()); ++i) {
    const c10::AliasInfo* const alias = schema->arguments()[i].alias_info();
    if (alias != nullptr && !alias->isWrite()) continue;  // it makes a view
    for (const at::Tensor& tensor : tensorsOf(inputs[i])) {
      useOnHost(tensor, alias != nullptr ? Use::kWrite : Use::kRead,
                *deviceState().keep(name->name));
    }
  }
  return nullptr;
}

std::optional<at::CallbackHandle>& watch() {
  static std::optional<at::CallbackHandle> handle;
  return handle;
}

}  // namespace

void releaseHeldCopies(const VectorClock& completed, const at::Tensor* host) {
  releaseWhere([&](const HeldCopy& copy) {
    return completed.knows(copy.operation.actor, copy.operation.epoch) &&
           (host == nullptr || copy.host.is_alias_of(*host));
  });
}

void releaseAllHeldCopies() {
  releaseWhere([](const HeldCopy&) { return true; });
}

void hostLearns(const VectorClock& completed) {
  Actors& actors = deviceState().actors;
  actors.learn(actors.ofThisThread(), completed);
  releaseHeldCopies(actors.knownBy(actors.ofThisThread()), nullptr);
}

void hostWaits(const VectorClock& completed, std::int64_t HostWaits::*kind) {
  ++(deviceState().actors.waitsOfThisThread().*kind);
  hostLearns(completed);
}

void useOnHost(const at::Tensor& tensor, Use use, const std::string& name) {
  const StateLock lock(deviceState().mutex);
  if (blockOf(tensor) == nullptr) return;
  useMemory(tensor, use, deviceState().actors.doOnHost(name));
}

void startWatchingCpuOperators() {
  if (watch()) return;
  watch() = at::addGlobalCallback(at::RecordFunctionCallback(&seeCpuOperator)
                                      .needsInputs(true)
                                      .scopes({at::RecordScope::FUNCTION}));
}

void stopWatchingCpuOperators() {
  if (watch()) at::removeCallback(*watch());
  watch().reset();
}

}  // namespace pipetrace::test_device
