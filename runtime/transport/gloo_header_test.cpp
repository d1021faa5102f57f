#include "runtime/transport/gloo_header.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "trace/error.h"

namespace pipetrace {
namespace {

using ::testing::HasSubstr;

const MessageKey kKey{.step = 7, .stage = 2, .microBatch = 3, .kind = MessageKind::kGradients};

GlooHeader headerOf(const Message& message) {
  return {.header = {.key = kKey, .sequence = 70'000'000'000, .shape = shapeOf(message)},
          .deadline = message.deadline,
          .rows = message.rows};
}

at::Tensor bytesOf(const GlooHeader& header) {
  at::Tensor bytes = at::empty({GlooHeader::kBytes}, at::kByte);
  header.writeTo(bytes);
  return bytes;
}

std::string refusal(const at::Tensor& bytes) {
  try {
    GlooHeader::readFrom(bytes);
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

TEST(GlooHeaderTest, KeyTypeShapeDeadlineAndRowsSurvive) {
  const GlooHeader sent =
      headerOf({.tensor = at::empty({2, 3, 5}, at::kHalf), .deadline = -1, .rows = 24});
  const GlooHeader got = GlooHeader::readFrom(bytesOf(sent));
  EXPECT_EQ(got.header, sent.header);
  EXPECT_EQ(got.deadline, -1);
  EXPECT_EQ(got.rows, 24);
  EXPECT_EQ(got.bytes(), 60);
}

TEST(GlooHeaderTest, TheMessageIsTheFirstBytesOfItsBuffer) {
  const at::Tensor buffer = at::arange(16, at::kFloat);
  const Message made = headerOf({.tensor = at::empty({2, 3})}).makeMessage(buffer, 0);
  EXPECT_TRUE(made.tensor.equal(at::arange(6, at::kFloat).reshape({2, 3})));
  EXPECT_EQ(made.tensor.data_ptr(), buffer.data_ptr()) << "not copied";
  EXPECT_EQ(headerOf({.tensor = at::empty({2, 0, 5})}).makeMessage({}, 0).tensor.sizes(),
            (std::vector<std::int64_t>{2, 0, 5}));
  EXPECT_FALSE(headerOf({}).makeMessage({}, 0).tensor.defined());
}

TEST(GlooHeaderTest, AMessageBehindItsHeaderIsAViewOfTheirBufferOnABoundaryOf64Bytes) {
  for (const at::ScalarType type : {at::kBool, at::kBFloat16, at::kFloat, at::kComplexDouble}) {
    const at::Tensor sent = at::arange(6, at::kLong).reshape({2, 3}).to(type);
    const at::Tensor buffer = at::empty({GlooHeader::kBodyOffset + 200}, at::kByte);
    const GlooHeader header = headerOf({.tensor = sent});
    header.writeTo(buffer);
    const auto size = static_cast<std::int64_t>(sent.nbytes());
    buffer.narrow(0, GlooHeader::kBodyOffset, size).copy_(sent.flatten().view(at::kByte));
    const at::Tensor got =
        GlooHeader::readFrom(buffer).makeMessage(buffer, GlooHeader::kBodyOffset).tensor;
    EXPECT_TRUE(got.equal(sent)) << type;
    EXPECT_EQ(got.scalar_type(), type);
    EXPECT_EQ(got.storage().data_ptr().get(), buffer.data_ptr()) << "not copied";
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(got.data_ptr()) % 64, 0) << type;
  }
}

TEST(GlooHeaderTest, ADamagedHeaderIsRefused) {
  const at::Tensor good = bytesOf(headerOf({.tensor = at::empty({4, 4})}));
  EXPECT_EQ(refusal(good), "");
  const auto damaged = [&](std::int64_t word, std::int64_t value) {
    const at::Tensor words = good.clone().view(at::kLong);
    words[word] = value;
    return refusal(words.view(at::kByte));
  };
  EXPECT_THAT(damaged(0, 1), HasSubstr("no message of this program"));
  EXPECT_THAT(damaged(4, std::ssize(kMessageKinds)), HasSubstr("damaged"));
  EXPECT_THAT(damaged(4, -1), HasSubstr("damaged"));
  EXPECT_THAT(damaged(9, 1000), HasSubstr("damaged"));  // type
  EXPECT_THAT(damaged(9, -2), HasSubstr("damaged"));
  EXPECT_THAT(damaged(10, 9), HasSubstr("damaged"));  // dimensions
  EXPECT_THAT(damaged(10, -1), HasSubstr("damaged"));
  EXPECT_THAT(damaged(11, -4), HasSubstr("damaged"));  // a size
}

TEST(GlooHeaderTest, NineDimensionsAreRefused) {
  EXPECT_NO_THROW(headerOf({.tensor = at::empty({1, 1, 1, 1, 1, 1, 1, 1})}));
  EXPECT_THROW(headerOf({.tensor = at::empty({1, 1, 1, 1, 1, 1, 1, 1, 1})}), Error);
}

}  // namespace
}  // namespace pipetrace
