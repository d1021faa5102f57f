#include "runtime/transport/gloo_header.h"

#include <ATen/ops/empty.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "trace/error.h"

namespace pipetrace {
namespace {

using ::testing::HasSubstr;

const MessageKey kKey{.step = 7, .stage = 2, .microBatch = 3, .direction = Direction::kBackward};

GlooHeader received(const Message& message) {
  return GlooHeader(GlooHeader(kKey, message).toTensor());
}

std::string refusal(const GlooHeader& header, const MessageKey& expected) {
  try {
    header.check(expected);
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

TEST(GlooHeaderTest, TypeShapeAndDeadlineSurvive) {
  const Message sent{.tensor = at::empty({2, 0, 5}, at::kHalf), .deadline = -1};
  const GlooHeader header = received(sent);
  EXPECT_EQ(refusal(header, kKey), "");
  const Message made = header.makeMessage();
  EXPECT_EQ(made.tensor.sizes(), sent.tensor.sizes());
  EXPECT_EQ(made.tensor.scalar_type(), at::kHalf);
  EXPECT_EQ(made.deadline, -1);
}

TEST(GlooHeaderTest, AnotherMessageThanExpectedIsRefused) {
  const GlooHeader header = received({.tensor = at::empty({1})});
  MessageKey others[] = {kKey, kKey, kKey, kKey};
  others[0].step = 23;  // the same tag, 16 steps later
  others[1].stage = 1;
  others[2].microBatch = 4;
  others[3].direction = Direction::kForward;
  for (const MessageKey& other : others) {
    EXPECT_THAT(refusal(header, other), HasSubstr("instead of " + toText(other)));
  }
}

TEST(GlooHeaderTest, ADamagedHeaderIsRefused) {
  const at::Tensor good = GlooHeader(kKey, {.tensor = at::empty({4, 4})}).toTensor();
  const auto damaged = [&](std::int64_t word, std::int64_t value) {
    at::Tensor words = good.clone();
    words[word] = value;
    return refusal(GlooHeader(words), kKey);
  };
  EXPECT_THAT(damaged(0, 1), HasSubstr("no message of this program"));
  EXPECT_THAT(damaged(6, 1000), HasSubstr("damaged"));  // type
  EXPECT_THAT(damaged(6, -2), HasSubstr("damaged"));
  EXPECT_THAT(damaged(7, 9), HasSubstr("damaged"));  // dimensions
  EXPECT_THAT(damaged(7, -1), HasSubstr("damaged"));
  EXPECT_THAT(damaged(8, -4), HasSubstr("damaged"));  // a size
}

TEST(GlooHeaderTest, NineDimensionsAreRefused) {
  EXPECT_NO_THROW(received({.tensor = at::empty({1, 1, 1, 1, 1, 1, 1, 1})}));
  EXPECT_THROW(received({.tensor = at::empty({1, 1, 1, 1, 1, 1, 1, 1, 1})}), Error);
}

}  // namespace
}  // namespace pipetrace
