#include "trace/files/output_file.h"

#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>
#include <vector>

#include "trace/error.h"
#include "trace/files/write_all.h"
#include "trace/testing/file_text.h"

namespace pipetrace {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

class OutputFileTest : public testing::Test {
 protected:
  OutputFileTest()
      : folder_(fs::path(testing::TempDir()) / ("output file " + std::to_string(getpid()))) {
    fs::create_directories(folder_);
  }
  ~OutputFileTest() override { fs::remove_all(folder_); }

  std::string path(const char* name) const { return (folder_ / name).string(); }
  std::size_t files() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }

  fs::path folder_;
};

TEST_F(OutputFileTest, AppearsWholeOnCommit) {
  OutputFile file(path("profile.json"));
  file.write("hello ");
  file.write(std::string(3 << 20, 'x'));
  EXPECT_FALSE(fs::exists(path("profile.json")));
  file.commit();
  EXPECT_EQ(test::fileText(path("profile.json")).size(), 6U + (3U << 20));
  EXPECT_EQ(files(), 1U);
}

TEST_F(OutputFileTest, WithoutCommitTheOldFileStaysAndNothingIsLeft) {
  writeWholeFile(path("old"), "old");
  {
    OutputFile file(path("old"));
    file.write("new");
  }
  EXPECT_EQ(test::fileText(path("old")), "old");
  EXPECT_EQ(files(), 1U);
}

TEST_F(OutputFileTest, ModeFollowsTheUmaskAndAnOldFileKeepsIts) {
  const mode_t mask = ::umask(027);
  writeWholeFile(path("a"), "1");
  ::umask(mask);
  struct stat status {};
  ASSERT_EQ(::stat(path("a").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0640U);
  ::chmod(path("a").c_str(), 0600);
  writeWholeFile(path("a"), "2");
  ASSERT_EQ(::stat(path("a").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600U);
}

TEST_F(OutputFileTest, ThreadsThatWriteAtOnceLeaveTheUmaskAlone) {
  const mode_t mask = ::umask(027);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      for (int i = 0; i < 100; ++i) OutputFile(path(std::to_string(thread).c_str())).write("x");
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(::umask(mask), 027U);
}

TEST_F(OutputFileTest, AFolderIsSyncedAndAMissingOneIsAnError) {
  syncFolder(folder_);
  EXPECT_THAT([&] { syncFolder(path("missing")); },
              ThrowsMessage<Error>(HasSubstr("cannot open " + path("missing"))));
}

TEST_F(OutputFileTest, ALinkIsWrittenThrough) {
  writeWholeFile(path("real"), "old");
  fs::create_symlink(path("real"), path("link"));
  writeWholeFile(path("link"), "new");
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_EQ(test::fileText(path("real")), "new");
}

TEST_F(OutputFileTest, ALinkOfAnotherUserIsNotWrittenThrough) {
  writeWholeFile(path("real"), "old");
  fs::create_symlink(path("real"), path("link"));
  constexpr uid_t kNobody = 65534;
  if (::geteuid() != 0 || ::lchown(path("link").c_str(), kNobody, kNobody) != 0) {
    GTEST_SKIP() << "needs root, to make a link of another user";
  }
  EXPECT_THAT([&] { writeWholeFile(path("link"), "new"); },
              ThrowsMessage<Error>(HasSubstr("it is a link that another user made")));
  EXPECT_EQ(test::fileText(path("real")), "old");
}

TEST_F(OutputFileTest, AMissingFolderAndAFolderInPlaceOfTheFileAreNamed) {
  EXPECT_THAT([&] { OutputFile(path("none/profile.json")); },
              ThrowsMessage<Error>(
                  AllOf(HasSubstr("none/profile.json"), HasSubstr("create its folder first"))));
  EXPECT_THAT([&] { OutputFile(folder_.string()); },
              ThrowsMessage<Error>(HasSubstr("name a file")));
}

TEST_F(OutputFileTest, DevNullIsWrittenAndNotReplaced) {
  writeWholeFile("/dev/null", "x");
  struct stat status {};
  ASSERT_EQ(::stat("/dev/null", &status), 0);
  EXPECT_TRUE(S_ISCHR(status.st_mode));
}

TEST_F(OutputFileTest, AFullDiskIsAnErrorAndLeavesNothing) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "no /dev/full on this system";
  EXPECT_THAT([] { writeWholeFile("/dev/full", "x"); },
              ThrowsMessage<Error>(AllOf(HasSubstr("/dev/full"), HasSubstr("No space left"))));
}

TEST_F(OutputFileTest, AFileThatMayNotGrowKeepsTheOldOne) {
  writeWholeFile(path("a"), "old");
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit limit = before;
  limit.rlim_cur = 1 << 20;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  EXPECT_THROW(writeWholeFile(path("a"), std::string(5 << 20, 'x')), Error);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(test::fileText(path("a")), "old");
  EXPECT_EQ(files(), 1U);
}

}  // namespace
}  // namespace pipetrace
