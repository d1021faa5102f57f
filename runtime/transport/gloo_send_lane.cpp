#include <ATen/ops/empty.h>

#include <cstring>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/lanes/mailbox.h"
#include "runtime/lanes/message_header.h"
#include "runtime/transport/device_stage.h"
#include "runtime/transport/gloo_header.h"
#include "runtime/transport/gloo_lanes.h"
#include "runtime/transport/receive_buffer_sizes.h"

namespace pipetrace {
namespace {

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

}  // namespace

std::unique_ptr<SendLane<Message>> makeGlooSendLane(GlooGroup& group,
                                                    const GlooLaneOptions& options,
                                                    const StampClock& clock) {
  return std::make_unique<GlooSendLane>(group, options, clock);
}

}  // namespace pipetrace
