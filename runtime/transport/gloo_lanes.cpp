#include "runtime/transport/gloo_lanes.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <c10/core/Stream.h>
#include <c10/core/StreamGuard.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/lanes/mailbox.h"
#include "runtime/lanes/message_header.h"
#include "runtime/transport/gloo_header.h"

namespace pipetrace {
namespace {

/// Moves the messages of a lane between a device and pinned memory of the host, for transports that
/// move the host's memory. It copies on a stream of its own.
///
/// Threads: one makes it, one uses it.
class DeviceStage {
 public:
  /// Takes a stream of the device. Throws Error where there is none left.
  explicit DeviceStage(RankDevice& device);

  /// The message in pinned memory, once it is there: in that of `place`, which has its type and
  /// sizes, or in memory of its own. Waits for Message::made, also without a tensor.
  Message toHost(Message message, at::Tensor place = {}) const;
  /// The message on the device, once Message::made has passed. `message` may be in pinned memory,
  /// which is used until then.
  Message toDevice(Message message) const;

 private:
  const c10::Device device_;
  const c10::Stream stream_;
};

DeviceStage::DeviceStage(RankDevice& device)
    : device_(device.device()), stream_(device.newStream()) {}

Message DeviceStage::toHost(Message message, at::Tensor place) const {
  if (!message.tensor.defined()) {
    if (message.made != nullptr) message.made->synchronize();
    message.made = nullptr;
    return message;
  }
  const c10::StreamGuard guard(stream_);
  using enum RankDevice::Order;
  if (message.made != nullptr && RankDevice::keeps(kToHost)) message.made->block(stream_);
  const at::Tensor onDevice = message.tensor.contiguous();
  // Autograd may keep it, too, and let it go on the compute thread, which does not wait here.
  if (RankDevice::keeps(kToHostMemory)) message.tensor.record_stream(stream_);
  if (!place.defined()) {
    place = at::empty_like(onDevice, onDevice.options().device(c10::kCPU).pinned_memory(true));
  }
  place.copy_(onDevice, /*non_blocking=*/true);
  if (RankDevice::keeps(kOnHost)) DeviceEvent(stream_).synchronize();
  message.tensor = std::move(place);
  message.made = nullptr;
  return message;
}

Message DeviceStage::toDevice(Message message) const {
  if (!message.tensor.defined()) return message;
  const c10::StreamGuard guard(stream_);
  message.tensor = message.tensor.to(device_, /*non_blocking=*/true);
  if (RankDevice::keeps(RankDevice::Order::kToDevice)) message.made = RankDevice::record(stream_);
  return message;
}

/// A send that is under way. The works keep its tensors.
struct Sending {
  MessageKey key;
  Message message;  // with a device: its thread brings it to the host, and issues the send
  GlooGroup::WorkPtr header;
  GlooGroup::WorkPtr body;
  GlooGroup::WorkPtr late;  // of bytes whose receive is posted only when the header has come
};

struct Sent {
  std::exception_ptr error;
};

class GlooSendLane : public SendLane<Message> {
 public:
  GlooSendLane(GlooGroup& group, const GlooLaneOptions& options, const StampClock& clock)
      : group_(group),
        options_(options),
        clock_(clock),
        sendings_(options.messages, group.eventCount(), eventCount_),
        sents_(options.messages, eventCount_, group.eventCount()),
        sizes_(options.longestTogether) {
    if (options_.device != nullptr) stage_.emplace(*options_.device);
    group_.addEventCount(eventCount_);
    if (options_.background) thread_ = std::thread([this] { run(); });
  }

  ~GlooSendLane() override {
    eventCount_.stop();
    if (thread_.joinable()) thread_.join();
    group_.removeEventCount(eventCount_);
  }

  void send(const MessageKey& key, Message&& message) override {
    Sending sending{.key = key};
    if (stage_) {
      group_.guarded(doing(key), options_.peer, [&] { group_.throwIfAborted(); });
      sending.message = std::move(message);
    } else {
      group_.guarded(doing(key), options_.peer,
                     [&] { issue(sending, pack(key, std::move(message))); });
    }
    ++sent_;
    if (!options_.background) {
      const std::exception_ptr error = await(sending);
      if (error) std::rethrow_exception(error);
      // The peer takes them when it needs the message, and until then it may wait for this rank.
      if (sending.late) lates_.push_back(std::move(sending));
      if (clock_) stamps_.push_back(clock_());
      return;
    }
    // Room for the result, which the thread must be able to leave.
    if (sent_ - done_ > options_.messages) keepDone();
    if (!sendings_.put({.key = key}, std::move(sending))) giveUp(key);
  }

  std::optional<std::uint64_t> nextDone() override {
    if (stamps_.empty() && options_.background && sents_.has(done_)) keepDone();
    if (stamps_.empty()) return std::nullopt;
    const std::uint64_t stamp = stamps_.front();
    stamps_.erase(stamps_.begin());
    return stamp;
  }

  void awaitAll() override {
    while (options_.background && done_ < sent_) keepDone();
    for (const Sending& sending : lates_) {
      group_.guarded(doing(sending.key), options_.peer, [&] { group_.await(sending.late); });
    }
    lates_.clear();
  }

 private:
  std::string doing(const MessageKey& key) const { return sending(key, options_.peer); }

  [[noreturn]] void giveUp(const MessageKey& key) const {
    group_.guarded(doing(key), options_.peer, [&] { group_.throwIfAborted(); });
    throw Error("a lane was ended while it was sending " + toText(key));
  }

  /// A message as it travels. Tensors are undefined where nothing does.
  struct Parts {
    std::uint64_t number = 0;
    at::Tensor header;  ///< with the body behind it
    at::Tensor body;
    at::Tensor late;
    GlooPart latePart = GlooPart::kLongBody;
  };

  /// The message in the host's memory, once it is there.
  Parts pack(const MessageKey& key, Message&& message) {
    Parts parts{.number = packed_++};
    const GlooHeader header{
        .header = {.key = key, .sequence = parts.number, .shape = shapeOf(message)},
        .deadline = message.deadline,
        .rows = message.rows};
    const std::int64_t bytes = message.bytes();
    const std::int64_t room = sizes_.of(key);
    const bool isTogether = sizes_.isTogether(key);
    sizes_.note(key, bytes);
    const bool fits = bytes > 0 && bytes <= room;
    if (isTogether && fits) {
      parts.header = bufferOf(GlooHeader::kBodyOffset + bytes);
      header.writeTo(parts.header);
      copyBody(std::move(message), header, parts.header);
      return parts;
    }
    parts.header = bufferOf(GlooHeader::kBytes);
    header.writeTo(parts.header);
    at::Tensor tensor = onHost(std::move(message));
    if (fits) {
      parts.body = std::move(tensor);
      return parts;
    }
    if (room > 0 && !isTogether) parts.body = at::empty({1}, at::kByte);
    if (bytes > 0) parts.late = std::move(tensor);
    if (room == ReceiveBufferSizes::kUnknown) parts.latePart = GlooPart::kBody;
    return parts;
  }

  at::Tensor bufferOf(std::int64_t bytes) const {
    return at::empty({bytes}, at::TensorOptions(at::kByte).pinned_memory(stage_.has_value()));
  }
  void copyBody(Message&& message, const GlooHeader& header, const at::Tensor& buffer) const {
    if (!stage_ && message.tensor.is_contiguous()) {
      std::memcpy(buffer.mutable_data_ptr<std::uint8_t>() + GlooHeader::kBodyOffset,
                  message.tensor.const_data_ptr(), message.tensor.nbytes());
      return;
    }
    const at::Tensor place = header.makeMessage(buffer, GlooHeader::kBodyOffset).tensor;
    if (stage_) {
      stage_->toHost(std::move(message), place);
    } else {
      place.copy_(message.tensor);
    }
  }
  at::Tensor onHost(Message&& message) const {
    if (stage_) return stage_->toHost(std::move(message)).tensor;
    return message.tensor.defined() ? message.tensor.contiguous() : at::Tensor();
  }

  void issue(Sending& sending, const Parts& parts) {
    const auto post = [&](GlooGroup::WorkPtr& work, const at::Tensor& tensor, GlooPart part) {
      if (!tensor.defined()) return;
      const int tag = options_.tags.tag(sending.key, parts.number, part);
      work = group_.send(tensor, options_.peer, tag);
    };
    post(sending.header, parts.header, GlooPart::kHeader);
    post(sending.body, parts.body, GlooPart::kBody);
    post(sending.late, parts.late, parts.latePart);
  }

  std::exception_ptr await(const Sending& sending) const {
    try {
      group_.guarded(doing(sending.key), options_.peer, [&] {
        group_.await(sending.header);
        if (sending.body) group_.await(sending.body);
        if (sending.late && options_.background) group_.await(sending.late);
      });
    } catch (...) {
      return std::current_exception();
    }
    return nullptr;
  }

  std::exception_ptr bringAndIssue(Sending& sending) {
    try {
      const Parts parts = pack(sending.key, std::exchange(sending.message, {}));
      group_.guarded(doing(sending.key), options_.peer, [&] { issue(sending, parts); });
    } catch (...) {
      return std::current_exception();
    }
    return nullptr;
  }

  /// Waits for the oldest send that is not known to be done.
  void keepDone() {
    Mailbox<Sent>::Letter letter;
    if (!sents_.take(done_, letter))
      giveUp({.kind = options_.name.kind, .tensor = options_.name.tensor});
    ++done_;
    if (letter.payload.error) std::rethrow_exception(letter.payload.error);
    if (clock_) stamps_.push_back(letter.stamp);
  }

  // The lane's thread.
  void run() {
    Mailbox<Sending>::Letter letter;
    for (std::uint64_t number = 0; sendings_.take(number, letter); ++number) {
      Sent sent{stage_ ? bringAndIssue(letter.payload) : nullptr};
      if (!sent.error) sent.error = await(letter.payload);
      letter.payload = {};  // the tensors are free now
      if (!sents_.put({}, std::move(sent), clock_ ? clock_() : 0)) return;
    }
  }

  GlooGroup& group_;
  const GlooLaneOptions options_;
  const StampClock& clock_;
  EventCount eventCount_;
  Mailbox<Sending> sendings_;
  Mailbox<Sent> sents_;
  std::optional<DeviceStage> stage_;
  ReceiveBufferSizes sizes_;
  std::vector<Sending> lates_;  // without a thread: whose last bytes may be under way
  std::uint64_t packed_ = 0;
  std::uint64_t sent_ = 0;
  std::uint64_t done_ = 0;
  std::vector<std::uint64_t> stamps_;  // of sends that are done, not asked for yet
  std::thread thread_;
};

/// A receive that was posted.
struct Posted {
  MessageKey key;
  at::Tensor header;  ///< with space for the body behind it, if it may come so
  at::Tensor body;    ///< a buffer of the message's room, if it travels apart and that was known
  GlooGroup::WorkPtr headerWork;
  GlooGroup::WorkPtr bodyWork;
};

struct Received {
  Message message;
  std::exception_ptr error;
};

class GlooReceiveLane : public ReceiveLane<Message> {
 public:
  GlooReceiveLane(GlooGroup& group, const GlooLaneOptions& options, const StampClock& clock)
      : group_(group),
        options_(options),
        clock_(clock),
        posted_(options.messages, group.eventCount(), eventCount_),
        received_(options.messages, eventCount_, group.eventCount()),
        sizes_(options.longestTogether) {
    if (options_.device != nullptr) stage_.emplace(*options_.device);
    group_.addEventCount(eventCount_);
    if (options_.background) thread_ = std::thread([this] { run(); });
  }

  ~GlooReceiveLane() override {
    eventCount_.stop();
    if (thread_.joinable()) thread_.join();
    group_.removeEventCount(eventCount_);
  }

  std::uint64_t post(const MessageKey& key) override {
    const std::uint64_t number = numbers_++;
    const Buffers buffers = buffersAtPost(key, number);
    Posted posted{.key = key};
    group_.guarded(waitingFor(key, options_.peer), options_.peer, [&] {
      posted.header = bufferOf(buffers.header);
      posted.headerWork = receive(posted.header, key, number, GlooPart::kHeader);
      if (buffers.body > 0) {
        posted.body = bufferOf(buffers.body);
        posted.bodyWork = receive(posted.body, key, number, GlooPart::kBody);
      }
    });
    if (!posted_.put({}, std::move(posted))) giveUp(key);
    return number;
  }

  Arrival take(std::uint64_t number, const MessageKey& key) override {
    // Without a thread of its own the lane receives here, in the order of the posts.
    while (!options_.background && awaited_ <= number) awaitNext();
    Mailbox<Received>::Letter letter;
    if (!received_.take(number, letter)) giveUp(key);
    if (letter.payload.error) std::rethrow_exception(letter.payload.error);
    check_.require(letter.header, {.key = key, .sequence = number}, group_.rank(), options_.peer);
    return {std::move(letter.payload.message), letter.stamp};
  }

  bool has(std::uint64_t number) const override { return received_.has(number); }

 private:
  [[noreturn]] void giveUp(const MessageKey& key) const {
    const std::string doing = waitingFor(key, options_.peer);
    group_.guarded(doing, options_.peer, [&] { group_.throwIfAborted(); });
    throw Error("a lane was ended while it was " + doing);
  }

  at::Tensor bufferOf(std::int64_t bytes) const {
    return at::empty({bytes}, at::TensorOptions(at::kByte).pinned_memory(stage_.has_value()));
  }

  GlooGroup::WorkPtr receive(const at::Tensor& tensor, const MessageKey& key, std::uint64_t number,
                             GlooPart part) {
    return group_.receive(tensor, options_.peer, options_.tags.tag(key, number, part));
  }

  /// Bytes of the buffers of a message that is being posted; 0: none.
  struct Buffers {
    std::int64_t header = GlooHeader::kBytes;
    std::int64_t body = 0;
  };
  static std::int64_t together(std::int64_t room) {
    return room > 0 ? GlooHeader::kBodyOffset + room : GlooHeader::kBytes;
  }

  /// The room is unknown while messages of the steps before are still to come: they may be longer
  /// than all so far.
  Buffers buffersAtPost(const MessageKey& key, std::uint64_t number) {
    if (number == 0 || key.step != step_) {
      step_ = key.step;
      firstOfStep_ = number;
    }
    const std::uint64_t come = awaited_.load();
    if (come < firstOfStep_) {
      deferred_ = number + 1;
      return {.header = together(options_.longestTogether)};
    }
    const Room room = roomOf(key);
    if (room.isTogether) return {.header = together(room.bytes)};
    // The receive that is posted first gets the first message of its tag.
    const bool overtakes = deferred_ > come && number >= come + options_.tags.numbers();
    if (room.bytes != ReceiveBufferSizes::kUnknown && !overtakes) return {.body = room.bytes};
    deferred_ = number + 1;
    return {};
  }

  struct Room {
    std::int64_t bytes = ReceiveBufferSizes::kUnknown;
    bool isTogether = false;
  };
  Room roomOf(const MessageKey& key) const {
    const std::lock_guard lock(mutex_);
    return {.bytes = sizes_.of(key), .isTogether = sizes_.isTogether(key)};
  }
  void note(const MessageKey& key, std::int64_t bytes) {
    const std::lock_guard lock(mutex_);
    sizes_.note(key, bytes);
  }

  // The lane's thread.
  void run() {
    while (awaitNext()) {
    }
  }

  bool awaitNext() {
    Mailbox<Posted>::Letter letter;
    if (!posted_.take(awaited_, letter)) return false;
    Posted& posted = letter.payload;
    Received received;
    MessageHeader header;
    try {
      group_.guarded(waitingFor(posted.key, options_.peer), options_.peer, [&] {
        group_.await(posted.headerWork);
        const GlooHeader announced = GlooHeader::readFrom(posted.header);
        header = announced.header;
        received.message = awaitMessage(posted, announced, awaited_);
        if (stage_) received.message = stage_->toDevice(std::move(received.message));
      });
    } catch (...) {
      received.error = std::current_exception();
    }
    ++awaited_;
    letter.payload = {};  // its buffer is the message's alone now
    return received_.put(header, std::move(received), clock_ ? clock_() : 0);
  }

  /// Waits for the bytes that the header has announced.
  Message awaitMessage(Posted& posted, const GlooHeader& announced, std::uint64_t number) {
    const MessageKey& key = posted.key;
    const std::int64_t bytes = announced.bytes();
    const Room room = roomOf(key);
    note(key, bytes);
    if (room.isTogether && bytes <= room.bytes) {
      return announced.makeMessage(posted.header, GlooHeader::kBodyOffset);
    }
    const auto receiveNow = [&](std::int64_t length, GlooPart part) {
      at::Tensor body = bufferOf(length);
      group_.await(receive(body, key, number, part));
      return body;
    };
    const bool isFirst = room.bytes == ReceiveBufferSizes::kUnknown;
    if (posted.bodyWork) {
      group_.await(posted.bodyWork);
    } else if (isFirst && bytes > 0) {
      posted.body = receiveNow(bytes, GlooPart::kBody);
    } else if (!room.isTogether && room.bytes > 0) {
      posted.body = receiveNow(room.bytes, GlooPart::kBody);
    }
    if (!isFirst && bytes > room.bytes) posted.body = receiveNow(bytes, GlooPart::kLongBody);
    return announced.makeMessage(posted.body, 0);
  }

  GlooGroup& group_;
  const GlooLaneOptions options_;
  const StampClock& clock_;
  EventCount eventCount_;
  Mailbox<Posted> posted_;
  Mailbox<Received> received_;
  HeaderCheck check_;
  std::optional<DeviceStage> stage_;
  std::uint64_t numbers_ = 0;               // posted
  std::atomic<std::uint64_t> awaited_ = 0;  // messages that have come
  int step_ = 0;                            // of the message posted last
  std::uint64_t firstOfStep_ = 0;           // the number of the first one posted in that step
  std::uint64_t deferred_ = 0;              // after the last one whose body was not posted
  mutable std::mutex mutex_;
  ReceiveBufferSizes sizes_;  // of messages whose headers have come
  std::thread thread_;
};

}  // namespace

std::int64_t ReceiveBufferSizes::of(const MessageKey& key) const {
  const auto found = sizes_.find(key.stage);
  if (found == sizes_.end()) return kUnknown;
  const Room& room = found->second;
  return room.step == key.step ? room.settled : room.longest;
}

// In the first step the receiver cannot know rooms when it posts: those of one message are known
// when another has come.
bool ReceiveBufferSizes::isTogether(const MessageKey& key) const {
  const auto found = sizes_.find(key.stage);
  return found != sizes_.end() && found->second.firstStep != key.step &&
         of(key) <= longestTogether_;
}

void ReceiveBufferSizes::note(const MessageKey& key, std::int64_t bytes) {
  const auto [found, isFirst] = sizes_.try_emplace(
      key.stage, Room{.firstStep = key.step, .step = key.step, .settled = bytes, .longest = bytes});
  if (isFirst) return;
  Room& room = found->second;
  room.settled = of(key);
  room.step = key.step;
  room.longest = std::max(room.longest, bytes);
}

std::unique_ptr<SendLane<Message>> makeGlooSendLane(GlooGroup& group,
                                                    const GlooLaneOptions& options,
                                                    const StampClock& clock) {
  return std::make_unique<GlooSendLane>(group, options, clock);
}

std::unique_ptr<ReceiveLane<Message>> makeGlooReceiveLane(GlooGroup& group,
                                                          const GlooLaneOptions& options,
                                                          const StampClock& clock) {
  return std::make_unique<GlooReceiveLane>(group, options, clock);
}

}  // namespace pipetrace
