#include "runtime/transport/line_lanes.h"

#include <optional>
#include <utility>
#include <vector>

#include "runtime/lanes/header_check.h"
#include "runtime/transport/gloo_tags.h"
#include "runtime/transport/line_shapes.h"

namespace pipetrace {
namespace {

/// NCCL has no tags, and matches messages by their order. A backend that has them finds out by this
/// one where the two ends are not of one mind.
int tagOf(const MessageKey& key, std::uint64_t number) {
  return GlooTags{}.tag(key, number, GlooPart::kBody);
}

class LineSendLane : public SendLane<Message> {
 public:
  LineSendLane(MessageLine& line, int peer, std::size_t messages,
               std::unique_ptr<SendLane<Message>> host)
      : line_(line), peer_(peer), host_(std::move(host)), works_(messages) {}

  void send(const MessageKey& key, Message&& message) override {
    const std::int64_t rows = line_.rowsOf(key.microBatch);
    if (line_.isFirstStep(key.step)) {
      shapes_.note(key, shapeOf(message), rows);
      return host_->send(key, std::move(message));
    }
    line_.guarded([&] { return sending(key, peer_); }, peer_,
                  [&] {
                    shapes_.require(key, shapeOf(message), rows);
                    if (message.bytes() == 0) return;
                    letGo();
                    work(sent_) = line_.send(message, peer_, tagOf(key, sent_));
                    ++sent_;
                  });
  }

  /// Nobody asks: the device knows when a message has left.
  std::optional<std::uint64_t> nextDone() override { return std::nullopt; }

  void awaitAll() override {
    host_->awaitAll();
    if (sent_ == 0) return;
    line_.guarded([&] { return "waiting for the last messages to rank " + std::to_string(peer_); },
                  peer_, [&] { line_.awaitSent(works_); });
  }

 private:
  MessageLine::WorkPtr& work(std::uint64_t number) { return works_[number % works_.size()]; }

  /// The tensors of works that are done, before NCCL's own thread comes to that.
  void letGo() {
    for (; done_ < sent_; ++done_) {
      MessageLine::WorkPtr& oldest = work(done_);
      if (!line_.letGo(oldest) && sent_ - done_ < works_.size()) return;
      oldest.reset();
    }
  }

  MessageLine& line_;
  const int peer_;
  const std::unique_ptr<SendLane<Message>> host_;
  LineShapes shapes_;
  std::vector<MessageLine::WorkPtr> works_;  // a ring
  std::uint64_t sent_ = 0;                   // on the line
  std::uint64_t done_ = 0;                   // of these, those that were let go
};

class LineReceiveLane : public ReceiveLane<Message> {
 public:
  LineReceiveLane(MessageLine& line, int peer, bool forward, std::size_t messages,
                  std::unique_ptr<ReceiveLane<Message>> host)
      : line_(line), peer_(peer), forward_(forward), host_(std::move(host)), posted_(messages) {}

  std::uint64_t post(const MessageKey& key) override {
    Posted& posted = at(posts_);
    if (line_.isFirstStep(key.step)) {
      posted.onHost = host_->post(key);
      return posts_++;
    }
    line_.guarded([&] { return waitingFor(key, peer_); }, peer_,
                  [&] {
                    const TensorShape shape = shapes_.of(key, line_.rowsOf(key.microBatch));
                    posted.onLine = line_.receive(shape, forward_, peer_, tagOf(key, received_));
                    if (posted.onLine.work) ++received_;
                  });
    return posts_++;
  }

  Arrival take(std::uint64_t number, const MessageKey& key) override {
    Posted posted = std::exchange(at(number), {});
    if (posted.onHost) {
      Arrival arrival = host_->take(*posted.onHost, key);
      shapes_.note(key, shapeOf(arrival.message), line_.rowsOf(key.microBatch));
      return arrival;
    }
    if (!posted.onLine.tensor.defined()) return {};
    return {line_.guarded([&] { return waitingFor(key, peer_); }, peer_,
                          [&] { return line_.arrived(std::move(posted.onLine)); })};
  }

 private:
  struct Posted {
    std::optional<std::uint64_t> onHost;  ///< its number there
    MessageLine::Receiving onLine;
  };

  Posted& at(std::uint64_t number) { return posted_[number % posted_.size()]; }

  MessageLine& line_;
  const int peer_;
  const bool forward_;
  const std::unique_ptr<ReceiveLane<Message>> host_;
  LineShapes shapes_;
  std::vector<Posted> posted_;  // a ring
  std::uint64_t posts_ = 0;
  std::uint64_t received_ = 0;  // on the line
};

}  // namespace

std::unique_ptr<SendLane<Message>> makeLineSendLane(MessageLine& line, int peer,
                                                    std::size_t messages,
                                                    std::unique_ptr<SendLane<Message>> host) {
  return std::make_unique<LineSendLane>(line, peer, messages, std::move(host));
}

std::unique_ptr<ReceiveLane<Message>> makeLineReceiveLane(
    MessageLine& line, int peer, bool forward, std::size_t messages,
    std::unique_ptr<ReceiveLane<Message>> host) {
  return std::make_unique<LineReceiveLane>(line, peer, forward, messages, std::move(host));
}

}  // namespace pipetrace
