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

const MessageKey kKey{.step = 7, .stage = 2, .microBatch = 3, .direction = Direction::kBackward};

GlooHeader headerOf(const Message& message) {
  return {.header = {.key = kKey, .sequence = 70'000'000'000, .shape = shapeOf(message)},
          .deadline = message.deadline};
}

std::string refusal(const at::Tensor& words) {
  try {
    GlooHeader::fromTensor(words);
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

TEST(GlooHeaderTest, KeyTypeShapeAndDeadlineSurvive) {
  const GlooHeader sent = headerOf({.tensor = at::empty({2, 3, 5}, at::kHalf), .deadline = -1});
  const GlooHeader got = GlooHeader::fromTensor(sent.toTensor());
  EXPECT_EQ(got.header, sent.header);
  EXPECT_EQ(got.deadline, -1);
  EXPECT_EQ(got.bytes(), 60);
}

TEST(GlooHeaderTest, TheMessageIsTheFirstBytesOfItsBuffer) {
  const at::Tensor buffer = at::arange(16, at::kFloat);
  const Message made = headerOf({.tensor = at::empty({2, 3})}).makeMessage(buffer);
  EXPECT_TRUE(made.tensor.equal(at::arange(6, at::kFloat).reshape({2, 3})));
  EXPECT_EQ(made.tensor.data_ptr(), buffer.data_ptr()) << "not copied";
  EXPECT_EQ(headerOf({.tensor = at::empty({2, 0, 5})}).makeMessage({}).tensor.sizes(),
            (std::vector<std::int64_t>{2, 0, 5}));
  EXPECT_FALSE(headerOf({}).makeMessage({}).tensor.defined());
}

TEST(GlooHeaderTest, ADamagedHeaderIsRefused) {
  const at::Tensor good = headerOf({.tensor = at::empty({4, 4})}).toTensor();
  EXPECT_EQ(refusal(good), "");
  const auto damaged = [&](std::int64_t word, std::int64_t value) {
    at::Tensor words = good.clone();
    words[word] = value;
    return refusal(words);
  };
  EXPECT_THAT(damaged(0, 1), HasSubstr("no message of this program"));
  EXPECT_THAT(damaged(8, 1000), HasSubstr("damaged"));  // type
  EXPECT_THAT(damaged(8, -2), HasSubstr("damaged"));
  EXPECT_THAT(damaged(9, 9), HasSubstr("damaged"));  // dimensions
  EXPECT_THAT(damaged(9, -1), HasSubstr("damaged"));
  EXPECT_THAT(damaged(10, -4), HasSubstr("damaged"));  // a size
}

TEST(GlooHeaderTest, NineDimensionsAreRefused) {
  EXPECT_NO_THROW(headerOf({.tensor = at::empty({1, 1, 1, 1, 1, 1, 1, 1})}));
  EXPECT_THROW(headerOf({.tensor = at::empty({1, 1, 1, 1, 1, 1, 1, 1, 1})}), Error);
}

}  // namespace
}  // namespace pipetrace
