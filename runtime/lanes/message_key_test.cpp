#include "runtime/lanes/message_key.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace pipetrace {
namespace {

using ::testing::ElementsAre;
using enum MessageKind;

TEST(MessageKeyTest, PeopleReadWhichMessageItIs) {
  std::vector<std::string> texts;
  for (const MessageKindRow& row : kMessageKinds) {
    texts.push_back(
        toText({.step = 7, .stage = 1, .microBatch = 3, .kind = row.kind, .tensor = 0}));
  }
  EXPECT_THAT(texts,
              ElementsAre("the activations of micro-batch 3 for stage 1 in step 7",
                          "the gradients of micro-batch 3 for stage 1 in step 7",
                          "another copy's gradients of stage 1 in step 7",
                          "another copy's gradients of stage 1 in step 7", "an acknowledgement",
                          "the number of rows in step 7", "the number of rows in step 7",
                          "what all ranks agree on in step 7", "the losses of step 7",
                          "what ranks tell each other between steps"));
  EXPECT_EQ(toText({.step = 7, .stage = 1, .microBatch = 3, .kind = kGradients, .tensor = 2}),
            "tensor 2 of the gradients of micro-batch 3 for stage 1 in step 7");
}

TEST(MessageKeyTest, ThePlanOrdersItsOwnTensorsAndNoNumbersOfTheHost) {
  EXPECT_TRUE(LaneName(kActivations).isOrdered());
  EXPECT_FALSE(LaneName(kActivations, 1).isOrdered());
  EXPECT_FALSE(LaneName(kTiedGradients).isOrdered());
  for (const MessageKindRow& row : kMessageKinds) {
    EXPECT_FALSE(row.isOrdered && row.isOfHost) << row.text;
  }
}

}  // namespace
}  // namespace pipetrace
