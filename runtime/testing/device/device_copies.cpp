#include "runtime/testing/device/device_copies.h"

#include <ATen/ops/_local_scalar_dense.h>
#include <ATen/ops/empty_like.h>

#include <cstring>

#include "runtime/testing/device/device_memory.h"
#include "runtime/testing/device/device_state.h"
#include "runtime/testing/device/host_side.h"
#include "runtime/testing/device/operator_run.h"

namespace pipetrace::test_device {
namespace {

const std::string kCopy = "aten::copy_";
const std::string kItem = "aten::item";

class DeviceCopy {
 public:
  DeviceCopy(const at::Tensor& source, const at::Tensor& target, bool nonBlocking)
      : source_(source),
        target_(target),
        isFromDevice_(source.is_privateuseone()),
        isToDevice_(target.is_privateuseone()),
        isInsideDevices_(isFromDevice_ && isToDevice_),
        // As on CUDA a copy from or to memory that is not pinned may block whatever one asks for.
        mayBlock_(!isInsideDevices_ && !(nonBlocking && blockOf(host()) != nullptr)),
        blocks_(mayBlock_ && (isFromDevice_ || !nonBlocking)),
        run_(kCopy, streamOf(isFromDevice_ ? source : target)) {}

  void run() {
    {
      const StateLock lock(deviceState().mutex);
      enqueue();
    }
    const at::Tensor from = isFromDevice_ ? onCpu(source_) : source_;
    const at::Tensor to = isToDevice_ ? onCpu(target_) : target_;
    const bool isHeld = !isToDevice_ && !mayBlock_;
    at::Tensor held;
    run_.carryOut([&] {
      if (isHeld) {
        held = at::empty_like(to).copy_(from);
        if (to.is_non_overlapping_and_dense()) std::memset(to.data_ptr(), 0xFF, to.nbytes());
      } else {
        to.copy_(from);
      }
    });
    const StateLock lock(deviceState().mutex);
    if (isHeld) deviceState().heldCopies.push_back({target_, held, operation_});
    if (blocks_) run_.waitOnHost();
    if (mayBlock_ && !blocks_) ++deviceState().actors.waitsOfThisThread().copies;
  }

 private:
  static c10::Stream streamOf(const at::Tensor& tensor) {
    return currentStream(tensor.device().index());
  }
  const at::Tensor& host() const { return isFromDevice_ ? target_ : source_; }

  void enqueue() {
    Actors& actors = deviceState().actors;
    const bool isAcross = isInsideDevices_ && source_.device() != target_.device();
    // CUDA's copy between devices makes the two current streams wait for each other.
    const int there = isAcross ? actors.of(streamOf(target_)) : kNobody;
    if (isAcross) {
      const VectorClock before = actors.order(there);
      actors.learn(actors.of(streamOf(source_)), before);
    }
    operation_ = run_.enqueue();
    useMemory(source_, Use::kRead, operation_);
    useMemory(target_, Use::kWrite, operation_);
    const VectorClock after = actors.knownBy(operation_.actor);
    if (isAcross) actors.learn(there, after);
    // This copy sees what the stream itself has brought to the host before.
    if (!isInsideDevices_) releaseHeldCopies(after, &host());
  }

  const at::Tensor& source_;
  const at::Tensor& target_;
  const bool isFromDevice_;
  const bool isToDevice_;
  const bool isInsideDevices_;
  const bool mayBlock_;
  const bool blocks_;
  OperatorRun run_;
  Operation operation_;
};

}  // namespace

at::Tensor copyFrom(const at::Tensor& source, const at::Tensor& target, bool nonBlocking) {
  DeviceCopy(source, target, nonBlocking).run();
  return target;
}

at::Tensor copyFromAndResize(const at::Tensor& source, const at::Tensor& target) {
  target.resize_(source.sizes());
  return copyFrom(source, target, false);
}

at::Scalar itemOf(const at::Tensor& tensor) {
  OperatorRun run(kItem, currentStream(tensor.device().index()));
  {
    const StateLock lock(deviceState().mutex);
    useMemory(tensor, Use::kRead, run.enqueue());
  }
  at::Scalar item;
  run.carryOut([&] { item = at::_local_scalar_dense(onCpu(tensor)); });
  const StateLock lock(deviceState().mutex);
  run.waitOnHost();
  return item;
}

}  // namespace pipetrace::test_device
