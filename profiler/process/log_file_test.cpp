#include "profiler/process/log_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <string>

#include "profiler/testing/recorded_log.h"
#include "profiler/testing/resource_limit.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

const std::string kFirst = "the first line\n";
const std::string kSecond = "the second line\n";
const std::string kThird = "the third line\n";

/// The disk gets full in the middle of kSecond; signals are blocked, as on the log thread.
std::int64_t appendTorn(LogFile& file) {
  const auto before = std::signal(SIGXFSZ, SIG_IGN);
  const FileSizeLimit limit(kFirst.size() + 5);
  const std::int64_t lost = file.append(kFirst + kSecond + kThird, false);
  std::signal(SIGXFSZ, before);
  return lost;
}

TEST(LogFileTest, ALineThatGotInPartlyIsTakenOutAgain) {
  RecordedLog log;
  LogFile file(log.path());
  EXPECT_EQ(appendTorn(file), 2);
  EXPECT_EQ(log.text(), kFirst);
  EXPECT_EQ(file.firstError(), EFBIG);
  EXPECT_EQ(file.append(kThird), 0);
  EXPECT_EQ(log.text(), kFirst + kThird);
  EXPECT_EQ(file.failures(), 1);
}

TEST(LogFileTest, ALineThatCannotBeTakenOutIsClosedBeforeTheNext) {
  const int memory = memfd_create("log", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  ASSERT_GE(memory, 0);
  ASSERT_EQ(fcntl(memory, F_ADD_SEALS, F_SEAL_SHRINK), 0);  // as if others had written after it
  {
    const int number = dup(memory);  // which the log's file gets next
    close(number);
    RecordedLog log;
    LogFile file(log.path());
    ASSERT_EQ(dup2(memory, number), number);
    fcntl(number, F_SETFL, O_APPEND);
    EXPECT_EQ(appendTorn(file), 2);
    EXPECT_EQ(file.append(kThird, false), 0);  // such a file counts as deleted
    EXPECT_EQ(file.append(kFirst, false), 0);
  }
  std::string text(100, '\0');
  const ssize_t size = pread(memory, text.data(), text.size(), 0);
  ASSERT_GT(size, 0);
  text.resize(static_cast<std::size_t>(size));
  EXPECT_EQ(text, kFirst + kSecond.substr(0, 5) + "\n" + kThird + kFirst);
  close(memory);
}

TEST(LogFileTest, OfACompressedLogAFrameThatGotInPartlyIsTakenOutAgain) {
  RecordedLog log;
  const std::string path = log.path() + ".zst";
  LogFile file(path);
  ASSERT_TRUE(file.isCompressed());
  EXPECT_EQ(file.append(kFirst), 0);
  const std::string before = test::fileText(path);
  EXPECT_EQ(before.substr(0, 4), "\x28\xb5\x2f\xfd");
  {
    const auto signal = std::signal(SIGXFSZ, SIG_IGN);
    const FileSizeLimit limit(before.size() + 9);
    EXPECT_EQ(file.append(kSecond + kThird), 2);
    std::signal(SIGXFSZ, signal);
  }
  EXPECT_EQ(test::fileText(path), before);
  EXPECT_EQ(file.firstError(), EFBIG);
  EXPECT_EQ(file.append(kFirst), 0);
  EXPECT_EQ(test::fileText(path), before + before);
}

TEST(LogFileTest, ALinkIsNotFollowed) {
  RecordedLog log;
  const std::string target = log.folder() + "/target";
  std::ofstream(target) << kFirst;
  for (const char* const to : {"target", "missing"}) {
    std::filesystem::remove(log.path());
    std::filesystem::create_symlink(to, log.path());
    EXPECT_THAT([&] { LogFile(log.path()); },
                testing::ThrowsMessage<Error>(testing::HasSubstr("it is a symbolic link")));
  }
  EXPECT_EQ(test::fileText(target), kFirst);
  EXPECT_FALSE(std::filesystem::exists(log.folder() + "/missing"));
}

TEST(LogFileTest, AFileThatWasDeletedTakesNothingMore) {
  RecordedLog log;
  LogFile file(log.path());
  EXPECT_EQ(file.append(kFirst), 0);
  EXPECT_TRUE(file.isThere());
  std::filesystem::remove(log.path());
  EXPECT_EQ(file.append(kSecond + kThird), 2);
  EXPECT_FALSE(file.isThere());
  EXPECT_EQ(file.firstError(), ENOENT);
}

}  // namespace
}  // namespace pipetrace
