#include "profiler/nccl/events.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

namespace pipetrace {
namespace {

// A thread holds a slot while it copies some hundred bytes. If it was stopped just then, nobody
// waits for it.
constexpr int kLockTries = 1000;

template <std::size_t kSize>
void copyText(std::array<char, kSize>& to, const char* from) noexcept {
  to.fill('\0');
  if (from != nullptr) std::strncpy(to.data(), from, kSize - 1);
}

std::int64_t sizeOf(const char* dataType) noexcept {
  const std::string_view type = dataType == nullptr ? "" : dataType;
  if (type.find("64") != std::string_view::npos) return 8;
  if (type.find("32") != std::string_view::npos) return 4;
  if (type.find("16") != std::string_view::npos) return 2;
  return type.find('8') != std::string_view::npos ? 1 : 0;
}

std::int64_t bytesOf(std::size_t count, const char* dataType) noexcept {
  const std::int64_t size = sizeOf(dataType);
  return size == 0 ? kNotGiven : static_cast<std::int64_t>(count) * size;
}

}  // namespace

/// A slot that this thread holds; null: it got none.
class NcclEvents::Held {
 public:
  Held() = default;
  explicit Held(Slot& slot) noexcept {
    for (int i = 0; i < kLockTries; ++i) {
      if (!slot.busy.exchange(true, std::memory_order_acquire)) {
        slot_ = &slot;
        return;
      }
    }
  }
  ~Held() { release(); }
  Held(Held&& other) noexcept : slot_(std::exchange(other.slot_, nullptr)) {}
  Held& operator=(Held&&) = delete;

  void release() noexcept {
    if (slot_ != nullptr) slot_->busy.store(false, std::memory_order_release);
    slot_ = nullptr;
  }
  explicit operator bool() const noexcept { return slot_ != nullptr; }
  Slot* operator->() const noexcept { return slot_; }
  Slot& operator*() const noexcept { return *slot_; }

 private:
  Slot* slot_ = nullptr;
};

NcclEvents::NcclEvents(std::size_t slots, bool kernelChannels)
    : mask_(slots - 1), kernelChannels_(kernelChannels), slots_(std::make_unique<Slot[]>(slots)) {}

NcclEvents::Kind NcclEvents::kindOf(std::uint64_t type) noexcept {
  switch (type) {
    case nccl_event::kCollectiveCall:
    case nccl_event::kPointToPointCall: return Kind::kCall;
    case nccl_event::kCollective:
    case nccl_event::kPointToPoint: return Kind::kOperation;
    case nccl_event::kKernelChannel: return Kind::kChannel;
    default: return Kind::kNone;
  }
}

NcclEvents::Held NcclEvents::hold(Handle handle) noexcept {
  if (handle == 0) return {};
  Held held(slotOf(handle));
  if (held && held->number == handle) return held;
  stray();
  return {};
}

NcclEvents::Held NcclEvents::claim(Handle number) noexcept {
  Held held(slotOf(number));
  if (!held || held->number > number) return {};
  if (held->kind == Kind::kOperation && held->phase != Phase::kTaken) lose();
  return held;
}

NcclEvents::Handle NcclEvents::start(NcclCommunicator& communicator,
                                     const NcclEventDescription& description, std::int64_t job,
                                     Nanoseconds now) noexcept {
  const Kind kind = kindOf(description.type);
  if (kind == Kind::kNone) return 0;
  const auto parent = static_cast<Handle>(reinterpret_cast<std::uintptr_t>(description.parent));
  NcclOperation operation{
      .communicator = communicator.id, .ranks = communicator.ranks, .job = job, .called = now};
  if (kind == Kind::kOperation) inherit(operation, parent);
  if (kind == Kind::kChannel && description.kernelChannel.gpuTime != 0) {
    extend(parent, communicator.timer.place(description.kernelChannel.gpuTime, now), 0, false);
  }
  const Handle number = last_.fetch_add(1, std::memory_order_relaxed) + 1;
  Held slot = claim(number);
  if (!slot) {
    if (kind == Kind::kOperation) lose();
    return 0;
  }
  slot->number = number;
  slot->kind = kind;
  slot->phase = Phase::kOpen;
  slot->parent = parent;
  slot->communicator = &communicator;
  slot->channels = 0;
  slot->channelsStopped = 0;
  slot->operation = operation;
  if (kind == Kind::kOperation) describe(*slot, description);
  return number;
}

void NcclEvents::describe(Slot& slot, const NcclEventDescription& description) noexcept {
  NcclOperation& operation = slot.operation;
  if (description.type == nccl_event::kCollective) {
    const NcclCollective& collective = description.collective;
    copyText(operation.function, collective.function);
    copyText(operation.algorithm, collective.algorithm);
    copyText(operation.protocol, collective.protocol);
    operation.sequence = static_cast<std::int64_t>(collective.sequence);
    operation.bytes = bytesOf(collective.count, collective.dataType);
    slot.channels = collective.channels;
  } else {
    const NcclPointToPoint& message = description.pointToPoint;
    copyText(operation.function, message.function);
    operation.bytes = bytesOf(message.count, message.dataType);
    operation.peer = message.peer;
    slot.channels = message.channels;
  }
}

/// An operation belongs to the job that was open at its call: NCCL reports those of a group at the
/// group's end.
void NcclEvents::inherit(NcclOperation& operation, Handle call) noexcept {
  const Held slot = hold(call);
  if (!slot || slot->kind != Kind::kCall) return;
  operation.called = slot->operation.called;
  operation.job = slot->operation.job;
}

void NcclEvents::stop(Handle handle, Nanoseconds now) noexcept {
  Held slot = hold(handle);
  if (!slot || slot->phase != Phase::kOpen) return;
  slot->phase = Phase::kStopped;
  if (slot->kind == Kind::kOperation) slot->operation.queued = now;
  if (slot->kind != Kind::kChannel) return;
  const Handle parent = slot->parent;
  slot.release();
  extend(parent, 0, 0, true);
}

void NcclEvents::stopKernelChannel(Handle handle, std::uint64_t gpuTime, Nanoseconds now) noexcept {
  Held slot = hold(handle);
  if (!slot || slot->kind != Kind::kChannel || slot->phase != Phase::kOpen || gpuTime == 0) return;
  const Nanoseconds end = slot->communicator->timer.place(gpuTime, now);
  const Handle parent = slot->parent;
  slot.release();
  extend(parent, 0, end, false);
}

void NcclEvents::extend(Handle operation, Nanoseconds begin, Nanoseconds end,
                        bool stopped) noexcept {
  const Held slot = hold(operation);
  if (!slot || slot->kind != Kind::kOperation) return;
  NcclOperation& to = slot->operation;
  if (begin != 0) to.begin = to.begin == 0 ? begin : std::min(to.begin, begin);
  if (end != 0) to.end = std::max(to.end, end);
  if (stopped) ++slot->channelsStopped;
}

void NcclEvents::take(Nanoseconds now, bool all, std::vector<NcclOperation>& out) {
  const Handle last = last_.load(std::memory_order_relaxed);
  if (last > mask_) oldest_ = std::max(oldest_, last - mask_);
  bool allBefore = true;
  for (Handle number = oldest_; number <= last; ++number) {
    const bool isDone = takeOne(number, now, all, out);
    allBefore = allBefore && isDone;
    if (allBefore) oldest_ = number + 1;
  }
}

bool NcclEvents::takeOne(Handle number, Nanoseconds now, bool all,
                         std::vector<NcclOperation>& out) {
  const Held slot(slotOf(number));
  if (!slot || slot->number < number) return false;
  if (slot->number > number || slot->kind != Kind::kOperation) return true;
  if (slot->phase != Phase::kStopped) return slot->phase == Phase::kTaken;
  const bool waits = kernelChannels_ && slot->channelsStopped < slot->channels;
  if (waits && !all && now - slot->operation.queued < kPatience) return false;
  slot->phase = Phase::kTaken;
  out.push_back(slot->operation);
  return true;
}

}  // namespace pipetrace
