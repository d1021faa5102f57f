#include "runtime/transport/line_transport.h"

#include <algorithm>
#include <utility>

namespace pipetrace {
namespace {

/// Whether the plan has the messages of that lane, or all ranks come to them after its last.
bool isPlanned(const LaneName& name) {
  return name.isOrdered() && name.kind != MessageKind::kAcknowledgement;
}

MessageKey keyOfRows(int step) { return {.step = step, .kind = MessageKind::kRows}; }

/// On its way: of the step that begins and of the one before.
constexpr std::size_t kRowsMessages = 2;

}  // namespace

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

}  // namespace pipetrace
