#include "runtime/session/host_group.h"

#include <ATen/ops/empty.h>

#include <cstdint>
#include <cstring>

#include "runtime/program/plan_words.h"
#include "runtime/transport/message.h"

namespace pipetrace {
namespace {

constexpr MessageKey kBetweenSteps{.kind = MessageKind::kBetweenSteps};

/// A tensor as bytes: type, number of dimensions and sizes as int64, then its own bytes. The
/// messages of a lane have one type, and only their number of rows may differ.
at::Tensor asBytes(const at::Tensor& given) {
  const at::Tensor tensor = given.contiguous();
  std::vector<std::int64_t> head{static_cast<std::int64_t>(tensor.scalar_type()), tensor.dim()};
  for (const std::int64_t size : tensor.sizes()) head.push_back(size);
  const std::size_t headBytes = head.size() * sizeof(std::int64_t);
  at::Tensor bytes = at::empty({static_cast<std::int64_t>(headBytes + tensor.nbytes())}, at::kByte);
  auto* const place = bytes.mutable_data_ptr<std::uint8_t>();
  std::memcpy(place, head.data(), headBytes);
  if (tensor.nbytes() > 0) {
    std::memcpy(place + headBytes, tensor.const_data_ptr(), tensor.nbytes());
  }
  return bytes;
}

at::Tensor fromBytes(const at::Tensor& bytes) {
  const auto* next = bytes.const_data_ptr<std::uint8_t>();
  const auto number = [&] {
    std::int64_t value = 0;
    std::memcpy(&value, next, sizeof value);
    next += sizeof value;
    return value;
  };
  const auto type = static_cast<at::ScalarType>(number());
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(number()));
  for (std::int64_t& size : sizes) size = number();
  at::Tensor tensor = at::empty(sizes, type);
  if (tensor.nbytes() > 0) std::memcpy(tensor.mutable_data_ptr(), next, tensor.nbytes());
  return tensor;
}

}  // namespace

struct HostGroup::Lane {
  std::unique_ptr<SendLane<Message>> send;
  std::unique_ptr<ReceiveLane<Message>> receive;
};

HostGroup::HostGroup(Transport& transport, ControlChannel& control)
    : transport_(transport), control_(control) {}

HostGroup::~HostGroup() = default;

HostGroup::Lane& HostGroup::laneTo(int peer, bool sends) {
  std::unique_ptr<Lane>& lane = lanes_[{peer, sends}];
  if (lane) return *lane;
  // As many as there may be before the other end takes the first.
  constexpr std::size_t kMessages = 64;
  lane = std::make_unique<Lane>();
  if (sends) {
    lane->send = transport_.openSend(peer, kBetweenSteps.kind, kMessages);
  } else {
    lane->receive = transport_.openReceive(peer, kBetweenSteps.kind, kMessages);
  }
  transport_.awaitLanes();
  return *lane;
}

void HostGroup::send(int to, const at::Tensor& tensor) {
  control_.check();
  Lane& lane = laneTo(to, /*sends=*/true);
  lane.send->send(kBetweenSteps, {.tensor = asBytes(tensor)});
  // The lane holds a number of messages; the next ones wait for these.
  control_.waitingFor(to, numberOfAwaited(Awaited::kReceipt, 0));
  lane.send->awaitAll();
  control_.waited();
  lane.send->nextDone();  // or the lane keeps its time
}

at::Tensor HostGroup::receive(int from) {
  control_.check();
  Lane& lane = laneTo(from, /*sends=*/false);
  const std::uint64_t number = lane.receive->post(kBetweenSteps);
  control_.waitingFor(from, numberOfAwaited(Awaited::kRanks, 0));
  Message come = lane.receive->take(number, kBetweenSteps).message;
  control_.waited();
  return fromBytes(come.tensor);
}

void HostGroup::sendAll(int to, const std::vector<at::Tensor>& tensors) {
  send(to, messageOf({static_cast<double>(tensors.size())}).tensor);
  for (const at::Tensor& tensor : tensors) send(to, tensor.cpu());
}

std::vector<at::Tensor> HostGroup::receiveAll(int from) {
  const auto count = static_cast<std::size_t>(numbersOf({.tensor = receive(from)}).at(0));
  std::vector<at::Tensor> tensors;
  for (std::size_t i = 0; i < count; ++i) tensors.push_back(receive(from));
  return tensors;
}

void HostGroup::broadcast(int from, std::vector<double>& numbers) {
  std::vector<at::Tensor> tensors;
  // One more, so that no message is empty.
  if (transport_.rank() == from) {
    numbers.push_back(0);
    tensors.push_back(messageOf(numbers).tensor);
  }
  broadcast(from, tensors);
  numbers = numbersOf({.tensor = tensors.at(0)});
  numbers.pop_back();
}

void HostGroup::broadcast(int from, std::vector<at::Tensor>& tensors) {
  if (transport_.rank() != from) {
    tensors = receiveAll(from);
    return;
  }
  for (int to = 0; to < transport_.worldSize(); ++to) {
    if (to != from) sendAll(to, tensors);
  }
}

std::vector<std::vector<at::Tensor>> HostGroup::gather(const std::vector<int>& from, int to,
                                                       const std::vector<at::Tensor>& tensors) {
  std::vector<std::vector<at::Tensor>> all;
  for (const int rank : from) {
    const bool isOwn = rank == transport_.rank();
    if (transport_.rank() == to) all.push_back(isOwn ? tensors : receiveAll(rank));
    if (isOwn && transport_.rank() != to) sendAll(to, tensors);
  }
  return all;
}

}  // namespace pipetrace
