#include "runtime/device/rank_device.h"

#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <dlfcn.h>

#include <atomic>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>

#include "trace/error.h"

namespace pipetrace {
namespace {

using c10::impl::VirtualGuardImpl;

/// The streams of each device that the ranks of this process have.
///
/// Threads: any.
class TakenStreams {
 public:
  static TakenStreams& all() {
    static TakenStreams taken;
    return taken;
  }

  void take(c10::Device device) {
    const std::lock_guard lock(mutex_);
    int& count = counts_[device.str()];
    if (count == RankDevice::kStreamsOfDevice) {
      throw Error(
          device.str() + " has " + std::to_string(count) +
          " streams, and all are taken: fewer ranks of a process can share it (a rank needs " +
          std::to_string(RankDevice::kStreamsOfRank) + ", and one for each lane over Gloo)");
    }
    ++count;
  }
  void giveBack(c10::Device device, int count) {
    const std::lock_guard lock(mutex_);
    counts_[device.str()] -= count;
  }

 private:
  std::mutex mutex_;
  std::map<std::string, int> counts_;
};

std::atomic<RankDevice::Order> leftOut = RankDevice::Order::kAll;

c10::Device checked(c10::Device device) {
  if (device.is_cpu()) throw Error("the CPU has no streams");
  const int count = c10::impl::hasDeviceGuardImpl(device.type())
                        ? VirtualGuardImpl(device.type()).deviceCount()
                        : 0;
  if (device.index() < 0 || device.index() >= count) {
    throw Error("there is no device " + device.str() + ": this machine has " +
                std::to_string(count) + " of that kind");
  }
  return device;
}

std::size_t checkedAhead(int ahead) {
  if (ahead < 1) throw Error("a host is at least one job ahead of its device");
  return static_cast<std::size_t>(ahead);
}

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

DeviceEvent::DeviceEvent(const c10::Stream& stream)
    : stream_(stream), event_(stream.device_type(), c10::EventFlag::PYTORCH_DEFAULT) {
  event_.record(stream_);
}

void DeviceEvent::block(const c10::Stream& other) const {
  if (other != stream_) event_.block(other);
}

RankDevice::RankDevice(c10::Device device, int ahead, Streams streams)
    : ahead_(checkedAhead(ahead)),
      device_(checked(device)),
      hasOwnStreams_(streams == Streams::kSeparate) {
  try {
    while (streams_.size() < kStreamsOfRank) streams_.push_back(newStream());
  } catch (...) {
    TakenStreams::all().giveBack(device_, taken_);
    throw;
  }
}

RankDevice::~RankDevice() { TakenStreams::all().giveBack(device_, taken_); }

const c10::Stream& RankDevice::line() {
  if (!line_) line_ = newStream();
  return *line_;
}

c10::Stream RankDevice::newStream() {
  const VirtualGuardImpl guard(device_.type());
  if (!hasOwnStreams_) return guard.getDefaultStream(device_);
  TakenStreams::all().take(device_);
  ++taken_;
  return guard.getNewStream(device_);
}

std::shared_ptr<const DeviceEvent> RankDevice::record(const c10::Stream& stream) {
  return std::make_shared<const DeviceEvent>(stream);
}

at::Tensor RankDevice::await(const at::Tensor& tensor, const DeviceEvent* made,
                             const c10::Stream& through) const {
  if (!tensor.defined() || tensor.device() == device_) {
    if (made == nullptr || made->stream() == compute()) return tensor;
    if (keeps(Order::kMessage)) made->block(compute());
    if (tensor.defined() && keeps(Order::kMessageMemory)) tensor.record_stream(compute());
    return tensor;
  }
  // A copy between devices runs on the current streams of both.
  const c10::Stream source = VirtualGuardImpl(device_.type()).getStream(tensor.device());
  if (made != nullptr && keeps(Order::kCopy)) made->block(source);
  at::Tensor own;
  {
    const c10::StreamGuard guard(through);
    own = tensor.to(device_, /*non_blocking=*/true);
  }
  if (keeps(Order::kCopyMemory)) tensor.record_stream(source);
  return await(own, record(through).get(), through);
}

at::Tensor RankDevice::copied(const at::Tensor& pinned) const {
  at::Tensor own;
  {
    const c10::StreamGuard guard(data());
    own = pinned.to(device_, /*non_blocking=*/true);
  }
  if (keeps(Order::kBatchMemory)) own.record_stream(compute());
  return own;
}

void RankDevice::awaitCopies() const {
  if (keeps(Order::kBatch)) record(data())->block(compute());
}

void RankDevice::awaitRoom() {
  if (!keeps(Order::kRoom)) return;
  while (true) {
    std::shared_ptr<const DeviceEvent> oldest;
    {
      const std::lock_guard lock(mutex_);
      if (jobs_.size() < ahead_) return;
      oldest = jobs_.front().end;
    }
    oldest->synchronize();  // others may look meanwhile
    const std::lock_guard lock(mutex_);
    jobs_.pop_front();
  }
}

void RankDevice::queued(std::shared_ptr<const DeviceEvent> end, std::int64_t action) {
  const std::lock_guard lock(mutex_);
  jobs_.push_back({std::move(end), action});
}

std::pair<std::int64_t, std::uint64_t> RankDevice::unended() const {
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < jobs_.size(); ++i) {
    if (!jobs_[i].end->hasPassed()) return {jobs_[i].action, jobs_.size() - i};
  }
  return {0, 0};
}

void RankDevice::leaveOut(Order one) { leftOut = one; }

bool RankDevice::keeps(Order one) { return leftOut != one; }

RankDevice::Current::Current(const RankDevice& device)
    : stream_(device.compute()),
      hadThreads_(c10::AutogradState::get_tls_state().get_multithreading_enabled()) {
  c10::AutogradState::get_tls_state().set_multithreading_enabled(false);
}

RankDevice::Current::~Current() {
  c10::AutogradState::get_tls_state().set_multithreading_enabled(hadThreads_);
}

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
