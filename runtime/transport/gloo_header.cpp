#include "runtime/transport/gloo_header.h"

#include <ATen/ops/empty.h>
#include <c10/core/ScalarType.h>

#include <algorithm>
#include <string>

#include "trace/error.h"

namespace pipetrace {

namespace {

enum Word {
  kMagic,
  kStep,
  kStage,
  kMicroBatch,
  kDirection,
  kDeadline,
  kType,  // kNoTensor, or the number of a c10::ScalarType
  kDimensions,
  kFirstSize,
};
static_assert(kFirstSize + GlooHeader::kMaxDimensions == GlooHeader::kWords);

constexpr std::int64_t kMagicNumber = 0x5069'7065'5472'0001;  // "PipeTr", format 1
constexpr std::int64_t kNoTensor = -1;

}  // namespace

GlooHeader::GlooHeader(const MessageKey& key, const Message& message) {
  words_[kMagic] = kMagicNumber;
  words_[kStep] = key.step;
  words_[kStage] = key.stage;
  words_[kMicroBatch] = key.microBatch;
  words_[kDirection] = static_cast<std::int64_t>(key.direction);
  words_[kDeadline] = message.deadline;
  words_[kType] = kNoTensor;
  if (!message.tensor.defined()) return;
  const auto sizes = message.tensor.sizes();
  if (sizes.size() > kMaxDimensions) {
    throw Error("a message can have " + std::to_string(kMaxDimensions) + " dimensions, not " +
                std::to_string(sizes.size()));
  }
  words_[kType] = static_cast<std::int64_t>(message.tensor.scalar_type());
  words_[kDimensions] = static_cast<std::int64_t>(sizes.size());
  std::copy(sizes.begin(), sizes.end(), words_.begin() + kFirstSize);
}

GlooHeader::GlooHeader(const at::Tensor& words) {
  const std::int64_t* data = words.const_data_ptr<std::int64_t>();
  std::copy(data, data + kWords, words_.begin());
}

at::Tensor GlooHeader::toTensor() const {
  at::Tensor tensor = at::empty({kWords}, at::kLong);
  std::copy(words_.begin(), words_.end(), tensor.mutable_data_ptr<std::int64_t>());
  return tensor;
}

MessageKey GlooHeader::key() const {
  return {.step = static_cast<int>(words_[kStep]),
          .stage = static_cast<int>(words_[kStage]),
          .microBatch = static_cast<int>(words_[kMicroBatch]),
          .direction = static_cast<Direction>(words_[kDirection])};
}

void GlooHeader::check(const MessageKey& expected) const {
  if (words_[kMagic] != kMagicNumber) throw Error("what arrived is no message of this program");
  if (key() != expected) {
    throw Error("the peer sent " + toText(key()) + " instead of " + toText(expected) +
                "; do all ranks run the same schedule?");
  }
  const auto sizes = words_.begin() + kFirstSize;
  const bool sane = words_[kType] >= kNoTensor &&
                    words_[kType] < static_cast<std::int64_t>(c10::ScalarType::Undefined) &&
                    words_[kDimensions] >= 0 && words_[kDimensions] <= kMaxDimensions &&
                    std::all_of(sizes, words_.end(), [](std::int64_t n) { return n >= 0; });
  if (!sane) throw Error("the header of " + toText(expected) + " is damaged");
}

Message GlooHeader::makeMessage() const {
  Message message;
  message.deadline = words_[kDeadline];
  if (words_[kType] == kNoTensor) return message;
  const at::IntArrayRef sizes(words_.data() + kFirstSize,
                              static_cast<std::size_t>(words_[kDimensions]));
  message.tensor = at::empty(sizes, static_cast<c10::ScalarType>(words_[kType]));
  return message;
}

}  // namespace pipetrace
