#include <ATen/ops/empty.h>

#include <atomic>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "runtime/lanes/mailbox.h"
#include "runtime/lanes/message_header.h"
#include "runtime/transport/device_stage.h"
#include "runtime/transport/gloo_header.h"
#include "runtime/transport/gloo_lanes.h"
#include "runtime/transport/receive_buffer_sizes.h"

namespace pipetrace {
namespace {

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

std::unique_ptr<ReceiveLane<Message>> makeGlooReceiveLane(GlooGroup& group,
                                                          const GlooLaneOptions& options,
                                                          const StampClock& clock) {
  return std::make_unique<GlooReceiveLane>(group, options, clock);
}

}  // namespace pipetrace
