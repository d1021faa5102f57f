#include "analysis/run/costs/blocks_file.h"

#include <gmock/gmock.h>

#include "trace/error.h"

namespace pipetrace {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using ::testing::ThrowsMessage;

BlockTable tableOf(const std::string& text) { return readBlocksFile(text, "blocks.json"); }

std::function<void()> reading(const std::string& text) {
  return [text] { tableOf(text); };
}

TEST(BlocksFileTest, BlocksHaveTheirCostsInOrder) {
  const BlockTable table = tableOf(R"({
    "blocks": [
      {"name": "embedding", "forward_ms": 1.5, "backward_ms": 4, "backward_weight_ms": 1,
       "activation_bytes": 100, "freed_by_input_bytes": 60, "shared_bytes": 8,
       "parameter_bytes": 7},
      {"name": "layer", "count": 2, "forward_ms": 10, "activation_bytes": 9, "working_bytes": 3,
       "message_bytes": 5, "updating_bytes": 21, "optimizer_ms": 0.25}  // alike
    ],
    "transfer_ms": 0.601, "lr_ms": 0.1, "bandwidth_gbs": 12.5
  })");
  ASSERT_EQ(table.numBlocks(), 3);
  EXPECT_EQ(table.blocks[0].name, "embedding");
  EXPECT_EQ(table.blocks[0].forward, 1'500'000);
  EXPECT_EQ(table.blocks[0].backward, 4'000'000);
  EXPECT_EQ(table.blocks[0].backwardInput, 3'000'000);
  EXPECT_EQ(table.blocks[0].backwardWeight, 1'000'000);
  EXPECT_EQ(table.blocks[0].activation, 100);
  EXPECT_EQ(table.blocks[0].freedByInput, 60);
  EXPECT_EQ(table.blocks[0].shared, 8);
  EXPECT_EQ(table.blocks[0].parameters, 7);
  for (const std::size_t layer : {1U, 2U}) {
    EXPECT_EQ(table.blocks[layer].name, "layer");
    EXPECT_EQ(table.blocks[layer].backward, 20'000'000) << "twice the forward";
    EXPECT_EQ(table.blocks[layer].backwardInput, 10'000'000);
    EXPECT_EQ(table.blocks[layer].working, 3);
    EXPECT_EQ(table.blocks[layer].message, 5);
    EXPECT_EQ(table.blocks[layer].updating, 21);
    EXPECT_EQ(table.blocks[layer].optimizer, 250'000);
  }
  EXPECT_EQ(table.transfer, 601'000);
  EXPECT_EQ(table.lr, 100'000);
  EXPECT_DOUBLE_EQ(table.bandwidth, 12.5e9);
  EXPECT_TRUE(table.hasMemory());
  EXPECT_FALSE(tableOf(R"({"blocks": [{"forward_ms": 1}]})").hasMemory());
}

TEST(BlocksFileTest, AWrittenTableReadsBackTheSame) {
  BlockTable table{.transfer = 601'000, .lr = 1, .bandwidth = 12.5e9};
  table.blocks = {{.name = "a \"quoted\" name",
                   .forward = 1'234'567,
                   .backward = 3,
                   .backwardInput = 2,
                   .backwardWeight = 1,
                   .activation = 1000,
                   .freedByInput = -60,
                   .shared = 5,
                   .message = 7},
                  {.forward = 10, .activation = 5, .working = 1, .parameters = 2, .updating = 3}};
  const std::string text = toBlocksFile(table);
  EXPECT_EQ(toBlocksFile(tableOf(text)), text);
  const BlockTable read = tableOf(text);
  ASSERT_EQ(read.numBlocks(), 2);
  EXPECT_EQ(read.blocks[0].name, "a \"quoted\" name");
  EXPECT_EQ(read.blocks[0].forward, 1'234'567);
  EXPECT_EQ(read.blocks[0].freedByInput, -60);
  EXPECT_EQ(read.blocks[1].backward, 0) << "not twice the forward";
  EXPECT_EQ(read.blocks[1].updating, 3);
  EXPECT_EQ(read.lr, 1);
  EXPECT_DOUBLE_EQ(read.bandwidth, 12.5e9);
}

TEST(BlocksFileTest, ErrorsNameFileBlockAndKey) {
  const auto expectError = [](const std::string& text, const std::string& error) {
    EXPECT_THAT(reading(text), ThrowsMessage<Error>(StartsWith(error))) << text;
  };
  expectError(R"({"blocks": [{"forward_ms": 1}, {"name": "head", "forwrd_ms": 1}]})",
              "blocks.json: block 1 (head): forwrd_ms is no key of a block; did you mean "
              "forward_ms?");
  expectError(R"({"blocks": [{"forward_ms": 1}], "transfer": 1})",
              "blocks.json: transfer is no key of a blocks file; ");
  expectError(R"({"blcks": []})",
              "blocks.json: blcks is no key of a blocks file; did you mean "
              "blocks?");
  expectError(R"({"blocks": [{"forward_ms": "1"}]})",
              "blocks.json: block 0: forward_ms is text, not a number");
  expectError(R"({"blocks": [{"forward_ms": -1}]})",
              "blocks.json: block 0: forward_ms is -1; no cost is negative");
  expectError(R"({"blocks": [{"forward_ms": 1e3}]})",
              "blocks.json: block 0: forward_ms is 1e3, which is no time in milliseconds");
  expectError(R"({"blocks": [{"forward_ms": 1, "message_bytes": 0.5}]})",
              "blocks.json: block 0: message_bytes is 0.5, which is no whole number of bytes");
  expectError(R"({"blocks": [{"forward_ms": 1, "forward_ms": 1}]})",
              "blocks.json: block 0: forward_ms occurs twice");
  expectError(R"({"blocks": [{"forward_ms": 1}, {"name": "head", "backward_ms": 1}]})",
              "blocks.json: block 1 (head) has no forward_ms");
  expectError(R"({"blocks": [{"forward_ms": 1, "backward_ms": 1, "backward_input_ms": 2}]})",
              "blocks.json: block 0 has a half of its backward that is longer than the whole");
  expectError(R"({"blocks": [{"forward_ms": 1, "freed_by_input_bytes": 2}]})",
              "blocks.json: block 0 frees more memory");
  expectError(R"({"blocks": [{"forward_ms": 1, "activation_bytes": 2, "shared_bytes": 3}]})",
              "blocks.json: block 0 shares more memory with the next block than its forward");
  expectError(R"({"blocks": [{"forward_ms": 1, "activation_bytes": 2, "shared_bytes": 2},
                             {"forward_ms": 1, "activation_bytes": 1}]})",
              "blocks.json: block 0 shares more memory with the next block than that one takes");
  expectError(R"({"blocks": [{"forward_ms": 1, "activation_bytes": 2}, {"forward_ms": 1}]})",
              "blocks.json: block 1 has no activation_bytes, but others have");
  expectError(R"({"blocks": [{"forward_ms": 1, "count": 0}]})",
              "blocks.json: block 0: count is 0; it is from 1 to");
  expectError(R"({"blocks": [{"forward_ms": 1}, 7]})",
              "blocks.json: block 1 is a number, not an object");
  expectError(R"({"blocks": 7})", "blocks.json: blocks is a number, not an array of blocks");
  expectError(R"({"blocks": [{"forward_ms": 1, "name": 7}]})",
              "blocks.json: block 0: name is a number, not a text");
  expectError(R"({"blocks": [{"forward_ms": [1]}]})",
              "blocks.json: block 0: forward_ms is an array, not a number");
  expectError(R"({"blocks": [], "bandwidth_gbs": 0})",
              "blocks.json: bandwidth_gbs is 0; a bandwidth is finite and above 0");
  expectError("[]", "blocks.json holds no object");
  expectError(R"({"blocks": []})", "blocks.json has no blocks");
  expectError("{}", "blocks.json has no blocks");
  expectError(R"({"blocks": [{"forward_ms": [[[[[[1]]]]]], "forward_ms": 1}]})",
              "blocks.json: block 0: forward_ms occurs twice");
  expectError(R"({"blocks": [{"forward_ms": {"a": [[{}]]}}], "lr_ms": 1})",
              "blocks.json: block 0: forward_ms is an object, not a number");
  expectError("{\"blocks\": [}", "blocks.json: invalid JSON at line 1, column 13");
  expectError("", "blocks.json: invalid JSON at line 1, column 1");
}

}  // namespace
}  // namespace pipetrace
