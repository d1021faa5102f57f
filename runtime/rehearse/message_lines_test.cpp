// The times of messages on lines, by hand.
#include "runtime/rehearse/message_lines.h"

#include <gtest/gtest.h>

namespace pipetrace {
namespace {

TEST(MessageLinesTest, Placeholder) {}

}  // namespace
}  // namespace pipetrace
