#include "runtime/transport/line_transport.h"

#include "runtime/transport/line_lanes.h"

namespace pipetrace {
namespace {

/// Whether the plan has the messages of that lane.
bool isPlanned(const LaneName& name) {
  return name == LaneName(Direction::kForward) || name == LaneName(Direction::kBackward);
}

MessageKey keyOfRows(int step) {
  return {.step = step, .direction = kRowsLane.direction, .tensor = kRowsLane.tensor};
}

/// On its way: of the step that begins and of the one before.
constexpr std::size_t kRowsMessages = 2;

}  // namespace

LineTransport::LineTransport(Transport& host, LineTransportOptions options)
    : ForwardingTransport(host), options_(std::move(options)) {}

LineTransport::~LineTransport() = default;

void LineTransport::useDevice(RankDevice& device) {
  inner().useDevice(device);
  if (line_) return line_->startOver();
  auto line = std::make_unique<MessageLine>(options_.backend, device, options_.microBatches);
  const std::lock_guard lock(mutex_);
  line_ = std::move(line);
  if (abortReason_) line_->abort(*abortReason_);
}

std::unique_ptr<SendLane<Message>> LineTransport::openSend(int to, const LaneName& name,
                                                           std::size_t messages) {
  auto host = inner().openSend(to, name, messages);
  if (!line_ || !isPlanned(name)) return host;
  return makeLineSendLane(*line_, to, messages, std::move(host));
}

std::unique_ptr<ReceiveLane<Message>> LineTransport::openReceive(int from, const LaneName& name,
                                                                 std::size_t messages) {
  auto host = inner().openReceive(from, name, messages);
  if (!line_ || !isPlanned(name)) return host;
  const bool forward = name.direction == Direction::kForward;
  return makeLineReceiveLane(*line_, from, forward, messages, std::move(host));
}

void LineTransport::awaitLanes() {
  rowsTo_.clear();
  rowsFrom_.reset();
  const bool says = line_ && rank() == options_.rowsFrom;
  for (int peer = 0; says && peer < worldSize(); ++peer) {
    if (peer != rank()) rowsTo_.push_back(inner().openSend(peer, kRowsLane, kRowsMessages));
  }
  if (line_ && !says) rowsFrom_ = inner().openReceive(options_.rowsFrom, kRowsLane, kRowsMessages);
  inner().awaitLanes();
}

int LineTransport::rowsFrom() const { return line_ ? options_.rowsFrom : kNoRank; }

void LineTransport::beginStep(int step, std::int64_t rows) {
  for (const auto& lane : rowsTo_) lane->send(keyOfRows(step), {.deadline = rows});
  line_->beginStep(step, rowsFrom_ ? hearRows(step, rows) : rows);
}

std::int64_t LineTransport::hearRows(int step, std::int64_t own) {
  const MessageKey key = keyOfRows(step);
  const std::int64_t rows = rowsFrom_->take(rowsFrom_->post(key), key).message.deadline;
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
}

}  // namespace pipetrace
