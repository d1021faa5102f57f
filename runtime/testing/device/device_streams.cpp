#include "runtime/testing/device/device_streams.h"

#include <ATen/CPUGeneratorImpl.h>

#include <chrono>
#include <memory>

#include "runtime/testing/device/device_memory.h"
#include "runtime/testing/device/device_state.h"
#include "runtime/testing/device/host_side.h"

namespace pipetrace::test_device {
namespace {

/// A point of a stream.
struct Point {
  VectorClock clock;
  std::uint64_t generation = 0;
  std::chrono::steady_clock::time_point at;
  bool hasTime = false;
  bool hangs = false;
  std::int64_t time = 0;                   ///< of DeviceHooks::afterRecord
  std::optional<HeldStreams::Place> held;  ///< where it stands; not given: it is there
};

/// An event, as it was last recorded.
struct DeviceEvent {
  std::shared_ptr<Point> point;
};

/// Null: it was never recorded, or before the last reset.
std::shared_ptr<Point> recorded(void* event) {
  const auto* const it = static_cast<const DeviceEvent*>(event);
  if (it == nullptr || it->point == nullptr) return nullptr;
  return it->point->generation == deviceState().actors.generation() ? it->point : nullptr;
}

std::shared_ptr<Point> pointOf(void* event) {
  const StateLock lock(deviceState().mutex);
  return recorded(event);
}

std::optional<HeldStreams::Place> placeOf(void* event) {
  const StateLock lock(deviceState().mutex);
  const auto point = recorded(event);
  return point ? point->held : std::nullopt;
}

/// The host waits until the event is one of what streams have done.
void awaitPlaceOf(void* event) {
  if (const auto place = placeOf(event)) deviceState().held.await(*place);
}

/// The stream has come to the point. Under the lock.
void pass(Point& point, const c10::Stream& stream, const VectorClock& known) {
  Actors& actors = deviceState().actors;
  actors.learn(actors.of(stream), known);
  point.clock = actors.knownBy(actors.of(stream));
  point.at = std::chrono::steady_clock::now();
  point.held.reset();
  if (const auto hooks = deviceHooks(); hooks->afterRecord) point.time = hooks->afterRecord(stream);
}

/// The stream waits for a point that others have come to. Null: for none. Under the lock.
void blockNow(const Point* point, const c10::Stream& stream, const VectorClock& known) {
  Actors& actors = deviceState().actors;
  actors.learn(actors.of(stream), known);
  if (point != nullptr) actors.learn(actors.of(stream), point->clock);
  const auto hooks = deviceHooks();
  if (hooks->afterBlock) hooks->afterBlock(point != nullptr ? point->time : 0, stream);
}

c10::DeviceIndex checkedIndex(c10::Device device) {
  const c10::DeviceIndex index = device.has_index() ? device.index() : thisThread().device;
  TORCH_CHECK(index < deviceState().deviceCount, "test device: invalid device ordinal ",
              static_cast<int>(index));
  return index;
}

c10::Stream nextStream(c10::Device device, bool isHighPriority) {
  const StateLock lock(deviceState().mutex);
  const c10::DeviceIndex index = checkedIndex(device);
  StreamPool& pool = deviceState().pools.at(static_cast<std::size_t>(index));
  int& next = pool.next.at(isHighPriority ? 1 : 0);
  const int stream = next + (isHighPriority ? StreamPool::kStreams : 0);
  next = (next + 1) % StreamPool::kStreams;
  pool.given.set(static_cast<std::size_t>(stream));
  return c10::Stream(c10::Stream::UNSAFE, c10::Device(kType, index), stream + 1);
}

class Guard final : public c10::impl::DeviceGuardImplInterface {
 public:
  c10::DeviceType type() const override { return kType; }
  c10::DeviceIndex deviceCount() const noexcept override {
    return static_cast<c10::DeviceIndex>(deviceState().deviceCount.load());
  }
  c10::DeviceCapability getDeviceCapability(c10::Device /*device*/) const override { return {}; }

  c10::Device getDevice() const override { return {kType, thisThread().device}; }
  void setDevice(c10::Device device) const override { thisThread().device = checkedIndex(device); }
  void uncheckedSetDevice(c10::Device device) const noexcept override {
    thisThread().device = device.index();
  }
  c10::Device exchangeDevice(c10::Device device) const override {
    const c10::Device old = getDevice();
    setDevice(device);
    return old;
  }

  c10::Stream getStream(c10::Device device) const override {
    return currentStream(device.has_index() ? device.index() : thisThread().device);
  }
  c10::Stream getDefaultStream(c10::Device device) const override {
    return c10::Stream(c10::Stream::DEFAULT, device);
  }
  c10::Stream getNewStream(c10::Device device, int priority) const override {
    return nextStream(device, priority < 0);
  }
  c10::Stream getStreamFromGlobalPool(c10::Device device, bool isHighPriority) const override {
    return nextStream(device, isHighPriority);
  }
  c10::Stream exchangeStream(c10::Stream stream) const override {
    const c10::Stream old = currentStream(stream.device_index());
    thisThread().streams.at(static_cast<std::size_t>(stream.device_index())) = stream.id();
    return old;
  }
  void* getStreamNativeHandle(c10::Stream stream) const override {
    const auto hooks = deviceHooks();
    if (hooks->streamHandle) return hooks->streamHandle(stream);
    static std::array<std::array<char, 2 * StreamPool::kStreams + 1>, kTestDevices> handles;
    return &handles.at(static_cast<std::size_t>(stream.device_index()))
                .at(static_cast<std::size_t>(stream.id()));
  }
  bool queryStream(const c10::Stream& stream) const override {
    deviceState().held.advance(stream);
    const StateLock lock(deviceState().mutex);
    if (deviceState().held.holds(stream)) return false;
    Actors& actors = deviceState().actors;
    hostLearns(actors.knownBy(actors.of(stream)));
    return true;
  }
  void synchronizeStream(const c10::Stream& stream) const override {
    deviceState().held.awaitAll(stream);
    const StateLock lock(deviceState().mutex);
    Actors& actors = deviceState().actors;
    hostWaits(actors.knownBy(actors.of(stream)), &HostWaits::streams);
  }
  void synchronizeDevice(c10::DeviceIndex device) const override {
    deviceState().held.awaitAll(device);
    const StateLock lock(deviceState().mutex);
    hostWaits(deviceState().actors.knownByDevice(device), &HostWaits::devices);
  }
  void recordDataPtrOnStream(const c10::DataPtr& data, const c10::Stream& stream) const override {
    deviceAllocator().recordStream(data, stream);
  }

  // c10::Event holds nothing before it is recorded, and asks nothing here.
  void record(void** event, const c10::Stream& stream, c10::DeviceIndex device,
              c10::EventFlag flag) const override {
    TORCH_CHECK(device == -1 || device == stream.device_index(), "test device: an event of device ",
                static_cast<int>(device), " is recorded on ", stream);
    const StateLock lock(deviceState().mutex);
    const auto hooks = deviceHooks();
    const bool hangs = hooks->hasHung && hooks->hasHung(stream);
    if (*event == nullptr) *event = new DeviceEvent;
    Actors& actors = deviceState().actors;
    const auto point =
        std::make_shared<Point>(Point{.generation = actors.generation(),
                                      .hasTime = flag == c10::EventFlag::BACKEND_DEFAULT,
                                      .hangs = hangs});
    static_cast<DeviceEvent*>(*event)->point = point;
    const VectorClock known = actors.knownBy(actors.ofThisThread());
    HeldStreams& held = deviceState().held;
    if (!held.holds(stream)) return pass(*point, stream, known);
    point->held =
        held.add(stream, {.act = [point, stream, known] { pass(*point, stream, known); }});
  }
  void block(void* event, const c10::Stream& stream) const override {
    awaitPlaceOf(event);
    const StateLock lock(deviceState().mutex);
    Actors& actors = deviceState().actors;
    const VectorClock known = actors.knownBy(actors.ofThisThread());
    const auto point = recorded(event);
    HeldStreams& held = deviceState().held;
    if (!held.holds(stream)) return blockNow(point.get(), stream, known);
    held.add(stream, {.act = [point, stream, known] { blockNow(point.get(), stream, known); }});
    if (const auto hooks = deviceHooks(); hooks->afterHold) hooks->afterHold(stream);
  }
  bool queryEvent(void* event) const override {
    if (const auto place = placeOf(event)) deviceState().held.advance(place->stream);
    const StateLock lock(deviceState().mutex);
    const auto point = recorded(event);
    if (point && (point->hangs || point->held)) return false;
    if (point) hostLearns(point->clock);
    return true;
  }
  void synchronizeEvent(void* event) const override {
    awaitPlaceOf(event);
    const auto point = pointOf(event);
    const auto hooks = deviceHooks();
    if (point && hooks->beforeWait) hooks->beforeWait(point->time);
    const StateLock lock(deviceState().mutex);
    hostWaits(point ? point->clock : VectorClock(), &HostWaits::events);
  }
  double elapsedTime(void* from, void* to, c10::DeviceIndex /*device*/) const override {
    const Point& begin = *static_cast<const DeviceEvent*>(from)->point;
    const Point& end = *static_cast<const DeviceEvent*>(to)->point;
    TORCH_CHECK(begin.hasTime && end.hasTime, "test device: an event without times");
    return std::chrono::duration<double, std::milli>(end.at - begin.at).count();
  }
  void destroyEvent(void* event, c10::DeviceIndex /*device*/) const noexcept override {
    delete static_cast<DeviceEvent*>(event);
  }
};

/// Without one the autograd engine, pinned memory and resize_ throw.
class Interface final : public at::PrivateUse1HooksInterface {
 public:
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return deviceState().deviceCount > 0; }
  bool hasPrimaryContext(c10::DeviceIndex /*device*/) const override { return true; }
  c10::DeviceIndex deviceCount() const override { return deviceGuard().deviceCount(); }
  c10::DeviceIndex getCurrentDevice() const override { return thisThread().device; }
  // The CPU's, because its kernels draw from them.
  const at::Generator& getDefaultGenerator(c10::DeviceIndex /*device*/) const override {
    return at::detail::getDefaultCPUGenerator();
  }
  at::Generator getNewGenerator(c10::DeviceIndex /*device*/) const override {
    return at::detail::createCPUGenerator();
  }
  c10::Allocator* getPinnedMemoryAllocator() const override { return &pinnedAllocator(); }
  bool isPinnedPtr(const void* pointer) const override {
    const StateLock lock(deviceState().mutex);
    const auto& pinned = deviceState().pinned;
    const auto next = pinned.upper_bound(static_cast<const char*>(pointer));
    return next != pinned.begin() && pointer < std::prev(next)->second;
  }
  at::Device getDeviceFromPtr(void* /*pointer*/) const override {
    return {kType, thisThread().device};
  }
  void resizePrivateUse1Bytes(const c10::Storage& storage, std::size_t bytes) const override {
    resizeStorage(storage, bytes);
  }
};

}  // namespace

const c10::impl::DeviceGuardImplInterface& deviceGuard() {
  static const auto* const guard = new Guard;
  return *guard;
}

at::PrivateUse1HooksInterface& deviceInterface() {
  static auto* const interface = new Interface;
  return *interface;
}

}  // namespace pipetrace::test_device
