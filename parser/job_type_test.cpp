#include "parser/job_type.h"

#include <gtest/gtest.h>

#include <tuple>

namespace pipetrace {
namespace {

auto parsed(std::string_view text) {
  const JobType type = parseJobType(text);
  return std::tuple(type.kind, static_cast<int>(type.chunk), static_cast<int>(type.part));
}

TEST(JobTypeTest, OurTypesHaveNeitherChunkNorPart) {
  EXPECT_EQ(parsed("forward"), std::tuple(JobKind::kForward, -1, -1));
  EXPECT_EQ(parsed("backward_weight"), std::tuple(JobKind::kBackwardWeight, -1, -1));
  EXPECT_EQ(parsed("all_reduce"), std::tuple(JobKind::kAllReduce, -1, -1));
}

TEST(JobTypeTest, PaddlePaddlesHalvesAreKnown) {
  EXPECT_EQ(parsed("backward_b"), std::tuple(JobKind::kBackwardInput, -1, -1));
  EXPECT_EQ(parsed("backward_w"), std::tuple(JobKind::kBackwardWeight, -1, -1));
}

TEST(JobTypeTest, ATrailingNumberIsTheChunk) {
  EXPECT_EQ(parsed("forward0"), std::tuple(JobKind::kForward, 0, -1));
  EXPECT_EQ(parsed("backward_b1"), std::tuple(JobKind::kBackwardInput, 1, -1));
  EXPECT_EQ(parsed("backward12"), std::tuple(JobKind::kBackward, 12, -1));
}

TEST(JobTypeTest, ChunkInBracketsIsASubJob) {
  EXPECT_EQ(parsed("forward(chunk0)"), std::tuple(JobKind::kForward, -1, 0));
  EXPECT_EQ(parsed("backward_w1(chunk3)"), std::tuple(JobKind::kBackwardWeight, 1, 3));
}

TEST(JobTypeTest, UnknownTypesAreOther) {
  const auto other = std::tuple(JobKind::kOther, -1, -1);
  for (const char* text :
       {"", "forwards", "前向", "frobnicate7", "7", "forward(chunk)", "forward(chunkx)",
        "frob(chunk0)", "forward99999", "bubble", "other", "forward(chunk-1)"}) {
    EXPECT_EQ(parsed(text), other) << text;
  }
}

}  // namespace
}  // namespace pipetrace
