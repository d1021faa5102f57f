#include "runtime/testing/device/test_device.h"

#include <c10/core/DeviceType.h>

#include <algorithm>
#include <mutex>
#include <utility>

#include "runtime/testing/device/autocast.h"
#include "runtime/testing/device/device_memory.h"
#include "runtime/testing/device/device_state.h"
#include "runtime/testing/device/device_streams.h"
#include "runtime/testing/device/host_side.h"
#include "runtime/testing/device/operators.h"

namespace pipetrace {

using test_device::Actors;
using test_device::DeviceHooks;
using test_device::deviceState;
using test_device::MemoryFigures;
using test_device::StateLock;
using test_device::Use;

namespace {

MemoryFigures& memoryOf(int device) {
  return deviceState().memory.at(static_cast<std::size_t>(device));
}

}  // namespace

void installTestDevice() {
  static std::once_flag once;
  std::call_once(once, [] {
    TORCH_CHECK(!c10::impl::hasDeviceGuardImpl(c10::kCUDA),
                "the test device is for programs without CUDA: link no libtorch_cuda");
    c10::register_privateuse1_backend("test");
    c10::impl::registerDeviceGuard(test_device::kType, &test_device::deviceGuard());
    c10::SetAllocator(test_device::kType, &test_device::deviceAllocator());
    at::RegisterPrivateUse1HooksInterface(&test_device::deviceInterface());
    test_device::registerOperators();
    test_device::registerAutocast();
  });
}

c10::Device testDevice(int index) {
  return {test_device::kType, static_cast<c10::DeviceIndex>(index)};
}

void resetTestDevice() {
  const StateLock lock(deviceState().mutex);
  test_device::releaseAllHeldCopies();
  test_device::stopWatchingCpuOperators();
  deviceState().held.clear();
  deviceState().actors.forgetAll();
  deviceState().findings.clear();
  deviceState().hooks = std::make_shared<DeviceHooks>();
  deviceState().deviceCount = kTestDevices;
  for (MemoryFigures& figures : deviceState().memory) {
    figures = {.current = figures.current, .peak = figures.current};
  }
  for (auto& pool : deviceState().pools) pool.given.reset();
}

std::vector<std::string> takeTestDeviceFindings() {
  const StateLock lock(deviceState().mutex);
  return std::exchange(deviceState().findings, {});
}

DeviceLabel::DeviceLabel(const std::string& text) : outer_(test_device::thisThread().label) {
  const StateLock lock(deviceState().mutex);
  test_device::thisThread().label = deviceState().keep(text);
}

DeviceLabel::~DeviceLabel() { test_device::thisThread().label = outer_; }

struct HostToken::Knowledge {
  Actors::Knowledge known;
  std::uint64_t generation = 0;
};

HostToken HostToken::release() {
  const StateLock lock(deviceState().mutex);
  Actors& actors = deviceState().actors;
  HostToken token;
  token.knowledge_ = std::make_shared<const Knowledge>(
      Knowledge{actors.knowledgeOfThisThread(), actors.generation()});
  return token;
}

void HostToken::acquire() const {
  const StateLock lock(deviceState().mutex);
  Actors& actors = deviceState().actors;
  if (knowledge_ == nullptr || knowledge_->generation != actors.generation()) return;
  actors.learnEnqueued(knowledge_->known.enqueued);
  test_device::hostLearns(knowledge_->known.completed);
}

void hostReads(const at::Tensor& tensor) {
  static const std::string kName = "a read";
  test_device::useOnHost(tensor, Use::kRead, kName);
}

void hostWrites(const at::Tensor& tensor) {
  static const std::string kName = "a write";
  test_device::useOnHost(tensor, Use::kWrite, kName);
}

void watchCpuOperators() { test_device::startWatchingCpuOperators(); }

HostWaits hostWaits() {
  const StateLock lock(deviceState().mutex);
  return deviceState().actors.waits(nullptr);
}

HostWaits hostWaitsOf(std::thread::id thread) {
  const StateLock lock(deviceState().mutex);
  return deviceState().actors.waits(&thread);
}

void resetHostWaits() {
  const StateLock lock(deviceState().mutex);
  deviceState().actors.forgetWaits();
}

std::int64_t deviceBytes(int device) {
  const StateLock lock(deviceState().mutex);
  return memoryOf(device).current;
}

std::int64_t peakDeviceBytes(int device) {
  const StateLock lock(deviceState().mutex);
  return memoryOf(device).peak;
}

void resetPeakDeviceBytes(int device) {
  test_device::deviceAllocator().resetPeakStats(static_cast<c10::DeviceIndex>(device));
}

void limitDeviceMemory(int device, std::int64_t bytes) {
  const StateLock lock(deviceState().mutex);
  memoryOf(device).limit = bytes;
}

void setTestDeviceCount(int count) { deviceState().deviceCount = std::min(count, kTestDevices); }

void failOperators(std::function<void(const std::string&, c10::Stream)> hook) {
  test_device::setHook(&DeviceHooks::beforeOperator, std::move(hook));
}

void timeOperators(std::function<void(c10::Stream, std::int64_t)> hook) {
  test_device::setHook(&DeviceHooks::afterOperator, std::move(hook));
}

void followEvents(std::function<std::int64_t(c10::Stream)> recorded,
                  std::function<void(std::int64_t, c10::Stream)> streamWaits,
                  std::function<void(std::int64_t)> hostWaits,
                  std::function<void(c10::Stream)> streamHeld) {
  test_device::setHook(&DeviceHooks::afterRecord, std::move(recorded));
  test_device::setHook(&DeviceHooks::afterBlock, std::move(streamWaits));
  test_device::setHook(&DeviceHooks::beforeWait, std::move(hostWaits));
  test_device::setHook(&DeviceHooks::afterHold, std::move(streamHeld));
}

void hangStreams(std::function<bool(c10::Stream)> hook) {
  test_device::setHook(&DeviceHooks::hasHung, std::move(hook));
}

void setStreamHandles(std::function<void*(c10::Stream)> hook) {
  test_device::setHook(&DeviceHooks::streamHandle, std::move(hook));
}

void blockLater(c10::Stream stream, LaterEvent event) {
  const StateLock lock(deviceState().mutex);
  deviceState().held.add(stream, {.awaited = std::move(event)});
  if (const auto hooks = test_device::deviceHooks(); hooks->afterHold) hooks->afterHold(stream);
}

c10::Stream nextDeviceStream(int device) {
  return test_device::deviceGuard().getNewStream(testDevice(device), 0);
}

int streamsHandedOut(int device) {
  const StateLock lock(deviceState().mutex);
  return static_cast<int>(deviceState().pools.at(static_cast<std::size_t>(device)).given.count());
}

}  // namespace pipetrace
