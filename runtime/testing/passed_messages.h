#pragma once

#include <ATen/ops/arange.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "runtime/transport/transport.h"

namespace pipetrace::testing {

inline at::Tensor numbers(std::int64_t rows, c10::ScalarType type) {
  return at::arange(rows * 3, at::kLong).reshape({rows, 3}).to(type);
}

inline void expectSame(const at::Tensor& a, const at::Tensor& b) {
  ASSERT_EQ(a.defined(), b.defined());
  if (!a.defined()) return;
  EXPECT_EQ(a.scalar_type(), b.scalar_type());
  ASSERT_EQ(a.sizes(), b.sizes());
  EXPECT_TRUE(a.equal(b));
}

inline constexpr std::size_t kMessages = 64;

inline std::unique_ptr<SendLane<Message>> sendTo(Transport& transport, int peer,
                                                 MessageKind kind = MessageKind::kActivations) {
  return transport.openSend(peer, kind, kMessages);
}
inline std::unique_ptr<ReceiveLane<Message>> receiveFrom(
    Transport& transport, int peer, MessageKind kind = MessageKind::kActivations) {
  return transport.openReceive(peer, kind, kMessages);
}

inline Message receive(ReceiveLane<Message>& lane, const MessageKey& key) {
  return lane.take(lane.post(key), key).message;
}

/// Sends and receives `messages`, whose receives are posted `ahead` of their use, and compares.
inline void passAll(Transport& transport, const std::vector<MessageKey>& keys,
                    const std::vector<Message>& messages, std::size_t ahead) {
  if (transport.rank() == 0) {
    const auto lane = sendTo(transport, 1);
    for (std::size_t i = 0; i < messages.size(); ++i) lane->send(keys[i], Message(messages[i]));
    lane->awaitAll();
    transport.finish();
    return;
  }
  const auto lane = receiveFrom(transport, 0);
  std::vector<std::uint64_t> numbers;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    while (numbers.size() < std::min(messages.size(), i + 1 + ahead)) {
      numbers.push_back(lane->post(keys[numbers.size()]));
    }
    const Message got = lane->take(numbers[i], keys[i]).message;
    expectSame(got.tensor, messages[i].tensor);
    EXPECT_EQ(got.deadline, messages[i].deadline);
    EXPECT_EQ(got.rows, messages[i].rows);
  }
  transport.finish();
}

}  // namespace pipetrace::testing
