#include "runtime/transport/line_transport.h"

#include <ATen/ops/empty.h>
#include <c10/core/StreamGuard.h>

#include <algorithm>
#include <exception>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/lanes/message_header.h"
#include "runtime/transport/gloo_lanes.h"

namespace pipetrace {
namespace {

/// Whether the plan has the messages of that lane, or all ranks come to them after its last.
bool isPlanned(const LaneName& name) {
  return name.isOrdered() && name.kind != MessageKind::kAcknowledgement;
}

MessageKey keyOfRows(int step) { return {.step = step, .kind = MessageKind::kRows}; }

/// On its way: of the step that begins and of the one before.
constexpr std::size_t kRowsMessages = 2;

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

MessageLine::MessageLine(c10::intrusive_ptr<c10d::Backend> backend, RankDevice& device,
                         const c10::Stream& stream)
    : backend_(std::move(backend)), device_(device), stream_(stream) {}

MessageLine::~MessageLine() {
  if (aborting_.joinable()) {
    aborting_.join();
    return;
  }
  try {
    backend_->shutdown();
  } catch (...) {
    // The run has ended, and nobody waits for a message.
  }
}

/// NCCL takes what stands between startCoalescing() and endCoalescing() for one work. Outside of
/// them, c10d would make a communicator for each two ranks. With the line's stream current.
template <typename Issue>
void MessageLine::move(const at::Tensor& tensor, const Issue& issue) {
  const std::int64_t bytes = tensor.defined() ? static_cast<std::int64_t>(tensor.nbytes()) : 0;
  if (watch_ != nullptr) watch_->begins();
  if (bytes > 0) {
    std::vector<at::Tensor> tensors{tensor};
    backend_->startCoalescing();
    issue(tensors);
    backend_->endCoalescing()->wait();
  }
  if (watch_ != nullptr) watch_->ended(bytes);
}

void MessageLine::send(const Message& message, int to, int tag) {
  const c10::StreamGuard guard(stream_);
  if (message.made != nullptr && RankDevice::keeps(RankDevice::Order::kSend)) {
    message.made->block(stream_);
  }
  const at::Tensor tensor = message.tensor.defined() ? message.tensor.contiguous() : message.tensor;
  move(tensor, [&](std::vector<at::Tensor>& tensors) { backend_->send(tensors, to, tag); });
  // Whoever lets go of it does so behind that.
  if (message.bytes() > 0) message.tensor.record_stream(stream_);
}

MessageLine::Receiving MessageLine::receive(const TensorShape& shape, int from, int tag) {
  const c10::StreamGuard guard(stream_);
  Receiving receiving;
  if (shape.type != TensorShape::kNoTensor) {
    const c10::IntArrayRef sizes(shape.sizes.data(), static_cast<std::size_t>(shape.dimensions));
    receiving.tensor = at::empty(
        sizes,
        at::TensorOptions(static_cast<c10::ScalarType>(shape.type)).device(device_.device()));
  }
  move(receiving.tensor,
       [&](std::vector<at::Tensor>& tensors) { backend_->recv(tensors, from, tag); });
  if (receiving.tensor.defined()) receiving.made = RankDevice::record(stream_);
  return receiving;
}

Message MessageLine::arrived(const Receiving& receiving) {
  return {.tensor = device_.await(receiving.tensor, receiving.made.get(), stream_)};
}

void MessageLine::awaitAll() { DeviceEvent(stream_).synchronize(); }

void MessageLine::abort(const std::string& reason) noexcept {
  const std::lock_guard lock(mutex_);
  if (isAborted_.load()) return;
  abortReason_ = reason.empty() ? "it was stopped" : reason;
  isAborted_.store(true);
  try {
    aborting_ = std::thread([backend = backend_] {
      try {
        backend->abort();
      } catch (...) {
        // The works that it was to end have failed by themselves.
      }
    });
  } catch (...) {
    // There is no thread to be had: the process is ended by the control channel.
  }
}

void MessageLine::throwIfAborted() const {
  if (!isAborted_.load()) return;
  const std::lock_guard lock(mutex_);
  throw Error(abortReason_);
}

/// After abort() everything that goes wrong does so because of it.
void MessageLine::rethrow(int rank, const std::string& doing, int peer) const {
  try {
    throwIfAborted();
    throw;
  } catch (...) {
    rethrowAsPeerLost(rank, doing, peer);
  }
}

void LineShapes::note(const MessageKey& key, const TensorShape& shape, std::int64_t rows) {
  known_[{key.stage, key.microBatch}] = {
      .shape = shape, .followsRows = rows > 0 && shape.dimensions > 0 && shape.sizes[0] == rows};
}

TensorShape LineShapes::of(const MessageKey& key, std::int64_t rows) const {
  const auto found = known_.find({key.stage, key.microBatch});
  if (found == known_.end()) throw Error("there was none in the first step");
  TensorShape shape = found->second.shape;
  if (found->second.followsRows) shape.sizes[0] = rows;
  return shape;
}

void LineShapes::require(const MessageKey& key, const TensorShape& shape, std::int64_t rows) const {
  const TensorShape expected = of(key, rows);
  if (shape == expected) return;
  const std::string problem = problemOf(shape, expected);
  if (!problem.empty()) throw Error("it cannot be right: " + problem);
  throw Error("its shape is " + toText(shape) + ", where the other rank waits for " +
              toText(expected) + "; after the first step only the number of rows may change");
}

LineTransport::LineTransport(Transport& host, LineTransportOptions options)
    : ForwardingTransport(host), options_(std::move(options)) {
  steps_.rows.microBatches = options_.microBatches;
}

LineTransport::~LineTransport() = default;

void LineTransport::useDevice(RankDevice& device) {
  inner().useDevice(device);
  device_ = &device;
  steps_.hasBegun = false;
  {
    const std::lock_guard lock(mutex_);
    ownLines_.clear();  // of lanes that are gone
  }
  if (!hasOneLine() || line_) return;
  keep(line_, std::make_unique<MessageLine>(options_.backend, device, device.line()));
}

void LineTransport::keep(Line& place, Line line) {
  const std::lock_guard lock(mutex_);
  place = std::move(line);
  if (abortReason_) place->abort(*abortReason_);
}

void LineTransport::useWatch(LineWatch* watch) {
  if (line_) line_->useWatch(watch);
}

bool LineTransport::isInLine(const LaneName& name, int step) const {
  return line_ && isPlanned(name) && !steps_.isFirst(step);
}

const LineTransport::Line& LineTransport::lineOf(const LaneOfRun& lane) {
  if (hasOneLine()) return line_;
  const std::lock_guard lock(mutex_);
  ownLines_.push_back(std::make_unique<OwnLine>(OwnLine{.lane = lane}));
  return ownLines_.back()->line;
}

LineEnd LineTransport::endOf(const LaneOfRun& lane, std::size_t messages) {
  const bool sends = lane.from == rank();
  const int peer = sends ? lane.to : lane.from;
  return {.line = lineOf(lane),
          .steps = steps_,
          .rank = rank(),
          .peer = peer,
          .peerOnLine = hasOneLine() ? peer : (sends ? 1 : 0),
          .messages = messages};
}

std::unique_ptr<SendLane<Message>> LineTransport::openSend(int to, const LaneName& name,
                                                           std::size_t messages) {
  auto host = inner().openSend(to, name, messages);
  if (device_ == nullptr || !isPlanned(name)) return host;
  return makeLineSendLane(endOf({.from = rank(), .to = to, .name = name}, messages),
                          std::move(host));
}

std::unique_ptr<ReceiveLane<Message>> LineTransport::openReceive(int from, const LaneName& name,
                                                                 std::size_t messages) {
  auto host = inner().openReceive(from, name, messages);
  if (device_ == nullptr || !isPlanned(name)) return host;
  return makeLineReceiveLane(endOf({.from = from, .to = rank(), .name = name}, messages),
                             std::move(host));
}

void LineTransport::awaitLanes() {
  rowsTo_.clear();
  rowsFrom_.reset();
  const bool isOnDevice = device_ != nullptr;
  const bool says = isOnDevice && rank() == options_.rowsFrom;
  const int ranks = worldSize() / options_.replicas;
  const int first = rank() / ranks * ranks;  // of this replica
  for (int peer = first; says && peer < first + ranks; ++peer) {
    if (peer != rank())
      rowsTo_.push_back(inner().openSend(peer, MessageKind::kRows, kRowsMessages));
  }
  if (isOnDevice && !says) {
    rowsFrom_ = inner().openReceive(options_.rowsFrom, MessageKind::kRows, kRowsMessages);
  }
  inner().awaitLanes();
  // In one order on all ranks, or they would wait for each other in a circle.
  std::sort(ownLines_.begin(), ownLines_.end(),
            [](const auto& a, const auto& b) { return a->lane < b->lane; });
  for (const auto& own : ownLines_) {
    const int rankOnLine = own->lane.from == rank() ? 0 : 1;
    keep(own->line, std::make_unique<MessageLine>(options_.backendOf(own->lane, rankOnLine),
                                                  *device_, device_->newStream()));
  }
}

int LineTransport::rowsFrom() const { return device_ != nullptr ? options_.rowsFrom : kNoRank; }

CommStreams LineTransport::commStreams() const {
  return hasOneLine() ? CommStreams::kRank : CommStreams::kAsReached;
}

void LineTransport::beginStep(int step, std::int64_t rows) {
  for (const auto& lane : rowsTo_) lane->send(keyOfRows(step), {.rows = rows});
  steps_.begin(step, rowsFrom_ ? hearRows(step, rows) : rows);
}

std::int64_t LineTransport::hearRows(int step, std::int64_t own) {
  const MessageKey key = keyOfRows(step);
  const std::int64_t rows = rowsFrom_->take(rowsFrom_->post(key), key).message.rows;
  if (own == 0 || own == rows) return rows;
  throw Error("rank " + std::to_string(rank()) + " has a batch of " + std::to_string(own) +
              " rows in step " + std::to_string(step) + ", and rank " +
              std::to_string(options_.rowsFrom) + " one of " + std::to_string(rows));
}

void LineTransport::abort(const std::string& reason) noexcept {
  inner().abort(reason);
  const std::lock_guard lock(mutex_);
  if (!abortReason_) abortReason_ = reason;
  if (line_) line_->abort(reason);
  for (const auto& own : ownLines_) {
    if (own->line) own->line->abort(reason);
  }
}

std::unique_ptr<SendLane<Message>> makeLineSendLane(const LineEnd& end,
                                                    std::unique_ptr<SendLane<Message>> host) {
  return std::make_unique<LineSendLane>(end, std::move(host));
}

std::unique_ptr<ReceiveLane<Message>> makeLineReceiveLane(
    const LineEnd& end, std::unique_ptr<ReceiveLane<Message>> host) {
  return std::make_unique<LineReceiveLane>(end, std::move(host));
}

}  // namespace pipetrace
