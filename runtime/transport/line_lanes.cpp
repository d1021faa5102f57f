#include "runtime/transport/line_lanes.h"

#include <optional>
#include <utility>
#include <vector>

#include "runtime/lanes/message_header.h"
#include "runtime/transport/gloo_lanes.h"
#include "runtime/transport/line_shapes.h"

namespace pipetrace {
namespace {

/// NCCL has no tags, and matches messages by their order. A backend that has them finds out by this
/// one where the two ends are not of one mind.
int tagOf(const MessageKey& key, std::uint64_t number) {
  return GlooTags{}.tag(key, number, GlooPart::kBody);
}

/// Keeps the shapes of a lane's messages, and counts them.
class LineLane {
 public:
  explicit LineLane(const LineEnd& end) : end_(end) {}

  bool isOnHost(const MessageKey& key) const { return end_.steps.isFirst(key.step); }
  /// 0: no tensor that follows it.
  std::int64_t rowsOf(const MessageKey& key) const {
    const bool isOfMicroBatch = rowOf(key.kind).of == MessageKindRow::Of::kMicroBatch;
    return isOfMicroBatch ? end_.steps.rows.countOf(key.microBatch % end_.steps.rows.microBatches)
                          : 0;
  }
  LineShapes& shapes() { return shapes_; }
  MessageLine& line() { return *end_.line; }
  int peerOnLine() const { return end_.peerOnLine; }
  int nextTag(const MessageKey& key) { return tagOf(key, moved_++); }

  template <typename Text, typename Action>
  auto guarded(const Text& doing, const Action& action) {
    return line().guarded(end_.rank, doing, end_.peer, action);
  }
  std::string waiting(const MessageKey& key) const { return waitingFor(key, end_.peer); }
  std::string making(const MessageKey& key) const { return sending(key, end_.peer); }
  std::string lasting() const {
    return "waiting for the last messages to rank " + std::to_string(end_.peer);
  }

 private:
  const LineEnd end_;
  LineShapes shapes_;
  std::uint64_t moved_ = 0;
};

class LineSendLane : public SendLane<Message> {
 public:
  LineSendLane(const LineEnd& end, std::unique_ptr<SendLane<Message>> host)
      : lane_(end), host_(std::move(host)) {}

  void send(const MessageKey& key, Message&& message) override {
    const std::int64_t rows = lane_.rowsOf(key);
    if (lane_.isOnHost(key)) {
      lane_.shapes().note(key, shapeOf(message), rows);
      return host_->send(key, std::move(message));
    }
    // It goes when it was queued on the line, so that its memory is not kept for longer.
    const Message sent = std::move(message);
    lane_.guarded([&] { return lane_.making(key); },
                  [&] {
                    lane_.shapes().require(key, shapeOf(sent), rows);
                    lane_.line().send(sent, lane_.peerOnLine(), lane_.nextTag(key));
                  });
  }

  /// Nobody asks: the device knows when a message has left.
  std::optional<std::uint64_t> nextDone() override { return std::nullopt; }

  void awaitAll() override {
    host_->awaitAll();
    lane_.guarded([&] { return lane_.lasting(); }, [&] { lane_.line().awaitAll(); });
  }

 private:
  LineLane lane_;
  const std::unique_ptr<SendLane<Message>> host_;
};

class LineReceiveLane : public ReceiveLane<Message> {
 public:
  LineReceiveLane(const LineEnd& end, std::unique_ptr<ReceiveLane<Message>> host)
      : lane_(end), host_(std::move(host)), posted_(end.messages) {}

  std::uint64_t post(const MessageKey& key) override {
    Posted& posted = at(posts_);
    if (lane_.isOnHost(key)) {
      posted.onHost = host_->post(key);
      return posts_++;
    }
    lane_.guarded([&] { return lane_.waiting(key); },
                  [&] {
                    const TensorShape shape = lane_.shapes().of(key, lane_.rowsOf(key));
                    posted.onLine =
                        lane_.line().receive(shape, lane_.peerOnLine(), lane_.nextTag(key));
                  });
    return posts_++;
  }

  Arrival take(std::uint64_t number, const MessageKey& key) override {
    const Posted posted = std::exchange(at(number), {});
    if (posted.onHost) {
      Arrival arrival = host_->take(*posted.onHost, key);
      lane_.shapes().note(key, shapeOf(arrival.message), lane_.rowsOf(key));
      return arrival;
    }
    return {lane_.guarded([&] { return lane_.waiting(key); },
                          [&] { return lane_.line().arrived(posted.onLine); })};
  }

  bool has(std::uint64_t number) const override {
    const Posted& posted = posted_[number % posted_.size()];
    return posted.onHost && host_->has(*posted.onHost);
  }

 private:
  struct Posted {
    std::optional<std::uint64_t> onHost;  ///< its number there
    MessageLine::Receiving onLine;
  };

  Posted& at(std::uint64_t number) { return posted_[number % posted_.size()]; }

  LineLane lane_;
  const std::unique_ptr<ReceiveLane<Message>> host_;
  std::vector<Posted> posted_;  // a ring
  std::uint64_t posts_ = 0;
};

}  // namespace

std::unique_ptr<SendLane<Message>> makeLineSendLane(const LineEnd& end,
                                                    std::unique_ptr<SendLane<Message>> host) {
  return std::make_unique<LineSendLane>(end, std::move(host));
}

std::unique_ptr<ReceiveLane<Message>> makeLineReceiveLane(
    const LineEnd& end, std::unique_ptr<ReceiveLane<Message>> host) {
  return std::make_unique<LineReceiveLane>(end, std::move(host));
}

}  // namespace pipetrace
