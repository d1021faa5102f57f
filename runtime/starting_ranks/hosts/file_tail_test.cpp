#include "runtime/starting_ranks/hosts/file_tail.h"

#include <gmock/gmock.h>

#include <fstream>

#include "profiler/testing/recorded_log.h"

namespace pipetrace {
namespace {

class FileTailTest : public testing::Test {
 protected:
  void append(const std::string& text) const {
    std::ofstream(log_.path(), std::ios::binary | std::ios::app) << text;
  }
  RecordedLog log_;
  FileTail tail_{log_.path()};
};

TEST_F(FileTailTest, WholeLinesComeAsTheyAreWritten) {
  EXPECT_EQ(tail_.next(100, false), "") << "the file is not there yet";
  append("one\ntw");
  EXPECT_EQ(tail_.next(100, false), "one\n");
  EXPECT_EQ(tail_.next(100, false), "");
  append("o\n");
  EXPECT_EQ(tail_.next(100, false), "two\n");
}

TEST_F(FileTailTest, LinesThatArePassedOverDoNotCome) {
  tail_.skip();
  append("first\n");
  EXPECT_EQ(tail_.next(100, false), "first\n") << "nothing was there to pass over";
  append("before\n");
  FileTail later(log_.path());
  later.skip();
  append("after\n");
  EXPECT_EQ(later.next(100, false), "after\n");
}

TEST_F(FileTailTest, APieceEndsAtALineUnlessTheLineIsLonger) {
  append("12345\n12345\n123456789012345\nend");
  EXPECT_EQ(tail_.next(8, false), "12345\n");
  EXPECT_EQ(tail_.next(8, false), "12345\n");
  EXPECT_EQ(tail_.next(8, false), "12345678");
  EXPECT_EQ(tail_.next(8, false), "9012345\n");
  EXPECT_EQ(tail_.next(8, false), "");
  EXPECT_EQ(tail_.next(8, true), "end");
  EXPECT_EQ(tail_.next(8, true), "");
}

}  // namespace
}  // namespace pipetrace
