#include "samples/files/read_file.h"

#include <gmock/gmock.h>

#include <fstream>

#include "runtime/testing/rank_processes.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(ReadTextTest, BytesThatAreNoUtf8AreNamedWithTheirOffset) {
  const testing::ScratchFolder folder;
  const std::string path = folder.path("text");
  const auto write = [&](const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
  };
  write("na\xc3\xafve");
  EXPECT_EQ(readText(path), "na\xc3\xafve");
  write("na\xefve");  // Latin-1
  EXPECT_THAT([&] { readText(path); },
              ThrowsMessage<Error>(
                  HasSubstr(path + " is no text in UTF-8: it has the byte 0xef at offset 2; ")));
  write(std::string("ELF\0\1", 5));
  EXPECT_THAT([&] { readText(path); }, ThrowsMessage<Error>(HasSubstr("0x00 at offset 3")));
}

}  // namespace
}  // namespace pipetrace
