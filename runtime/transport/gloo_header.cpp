#include "runtime/transport/gloo_header.h"

#include <ATen/ops/empty.h>
#include <c10/core/ScalarType.h>
#include <c10/core/alignment.h>
#include <c10/util/strides.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "trace/error.h"

namespace pipetrace {

namespace {

enum Word {
  kMagic,
  kStep,
  kStage,
  kMicroBatch,
  kKind,
  kTensor,
  kSequence,
  kDeadline,
  kRows,
  kType,
  kDimensions,
  kFirstSize,
};
static_assert(kFirstSize + TensorShape::kMaxDimensions == GlooHeader::kWords);
static_assert(GlooHeader::kBodyOffset >= GlooHeader::kBytes);
static_assert(GlooHeader::kBodyOffset % c10::gAlignment == 0);

constexpr std::int64_t kMagicNumber = 0x5069'7065'5472'0000 + kGlooFormat;  // "PipeTr"

using Words = std::array<std::int64_t, GlooHeader::kWords>;

bool isSane(const TensorShape& shape) {
  return shape.type >= TensorShape::kNoTensor &&
         shape.type < static_cast<std::int64_t>(c10::ScalarType::Undefined) &&
         shape.dimensions >= 0 && shape.dimensions <= TensorShape::kMaxDimensions &&
         std::all_of(shape.sizes.begin(), shape.sizes.end(), [](auto n) { return n >= 0; });
}

}  // namespace

void GlooHeader::writeTo(const at::Tensor& buffer) const {
  Words words{};
  words[kMagic] = kMagicNumber;
  words[kStep] = header.key.step;
  words[kStage] = header.key.stage;
  words[kMicroBatch] = header.key.microBatch;
  words[kKind] = static_cast<std::int64_t>(header.key.kind);
  words[kTensor] = header.key.tensor;
  words[kSequence] = static_cast<std::int64_t>(header.sequence);
  words[kDeadline] = deadline;
  words[kRows] = rows;
  words[kType] = header.shape.type;
  words[kDimensions] = header.shape.dimensions;
  std::ranges::copy(header.shape.sizes, words.begin() + kFirstSize);
  std::memcpy(buffer.mutable_data_ptr(), words.data(), kBytes);
}

GlooHeader GlooHeader::readFrom(const at::Tensor& buffer) {
  Words words{};
  std::memcpy(words.data(), buffer.const_data_ptr(), kBytes);
  if (words[kMagic] != kMagicNumber) throw Error("what arrived is no message of this program");
  if (words[kKind] < 0 || words[kKind] >= std::ssize(kMessageKinds)) {
    throw Error("the header of a message is damaged");
  }
  GlooHeader result;
  result.header.key = {.step = static_cast<int>(words[kStep]),
                       .stage = static_cast<int>(words[kStage]),
                       .microBatch = static_cast<int>(words[kMicroBatch]),
                       .kind = static_cast<MessageKind>(words[kKind]),
                       .tensor = static_cast<int>(words[kTensor])};
  result.header.sequence = static_cast<std::uint64_t>(words[kSequence]);
  result.deadline = words[kDeadline];
  result.rows = words[kRows];
  TensorShape& shape = result.header.shape;
  shape.type = words[kType];
  shape.dimensions = words[kDimensions];
  std::copy(words.begin() + kFirstSize, words.end(), shape.sizes.begin());
  if (!isSane(shape)) throw Error("the header of " + toText(result.header.key) + " is damaged");
  return result;
}

std::int64_t GlooHeader::bytes() const {
  const TensorShape& shape = header.shape;
  if (shape.type == TensorShape::kNoTensor) return 0;
  auto bytes =
      static_cast<std::int64_t>(c10::elementSize(static_cast<c10::ScalarType>(shape.type)));
  for (std::int64_t i = 0; i < shape.dimensions; ++i) {
    bytes *= shape.sizes[static_cast<std::size_t>(i)];
  }
  return bytes;
}

Message GlooHeader::makeMessage(const at::Tensor& buffer, std::int64_t offset) const {
  Message message{.deadline = deadline, .rows = rows};
  const TensorShape& shape = header.shape;
  if (shape.type == TensorShape::kNoTensor) return message;
  const at::IntArrayRef sizes(shape.sizes.data(), static_cast<std::size_t>(shape.dimensions));
  const auto type = static_cast<c10::ScalarType>(shape.type);
  if (bytes() == 0) {
    message.tensor = at::empty(sizes, type);
    return message;
  }
  message.tensor = at::empty({0}, type);
  message.tensor.set_(buffer.storage(), offset / static_cast<std::int64_t>(c10::elementSize(type)),
                      sizes, c10::contiguous_strides(sizes));
  return message;
}

}  // namespace pipetrace
