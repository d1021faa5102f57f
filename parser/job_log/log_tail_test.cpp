#include "parser/job_log/log_tail.h"

#include <gtest/gtest.h>

#include <fstream>

#include "parser/testing/files.h"
#include "parser/testing/gzip.h"

namespace pipetrace {
namespace {

class LogTailTest : public test::FolderTest {
 protected:
  void append(const std::string& bytes) {
    std::ofstream(path("workerlog.0.zst"), std::ios::app | std::ios::binary) << bytes;
  }
};

TEST_F(LogTailTest, FramesAreReadAsTheyCome) {
  append(test::inFrame("one\ntw"));
  LogTail tail(path("workerlog.0.zst"));
  EXPECT_EQ(tail.next(), "one\n");
  EXPECT_EQ(tail.next(), "");
  append(test::inFrame("o\nthree\n"));
  EXPECT_EQ(tail.next(), "two\nthree\n");
  const std::string last = test::inFrame("four\n");
  append(last.substr(0, 7));
  EXPECT_EQ(tail.next(), "");
  append(last.substr(7));
  EXPECT_EQ(tail.next(), "four\n");
  EXPECT_FALSE(tail.wasReplaced());
}

}  // namespace
}  // namespace pipetrace
