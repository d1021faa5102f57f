#include "trace/files/output_set.h"

#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "trace/error.h"
#include "trace/files/unfinished_files.h"

namespace pipetrace {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::ThrowsMessage;

class OutputSetTest : public testing::Test {
 protected:
  OutputSetTest()
      : folder_(fs::path(testing::TempDir()) / ("output set " + std::to_string(getpid()))) {
    fs::create_directories(folder_);
  }
  ~OutputSetTest() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::string contents(const std::string& name) const {
    std::ifstream in(folder_ / name, std::ios::binary);
    std::stringstream text;
    text << in.rdbuf();
    return text.str();
  }
  void write(const std::string& name) const { std::ofstream(folder_ / name) << "old"; }
  std::vector<std::string> names() const {
    std::vector<std::string> list;
    for (const auto& entry : fs::recursive_directory_iterator(folder_)) {
      list.push_back(fs::relative(entry.path(), folder_).string());
    }
    std::sort(list.begin(), list.end());
    return list;
  }

  fs::path folder_;
};

TEST_F(OutputSetTest, CommitMakesAllFilesAppearAndRemovesStaleOnes) {
  write("a");
  write("stale");
  OutputSet set;
  set.add(path("a")).write("later a");
  set.makeFolder(path("x/y/"));
  set.add(path("x/y/b"), "later b");
  set.remove(path("stale"));
  EXPECT_EQ(contents("a"), "old");
  EXPECT_TRUE(fs::exists(path("stale")));
  set.commit();
  EXPECT_EQ(contents("a"), "later a");
  EXPECT_EQ(contents("x/y/b"), "later b");
  EXPECT_THAT(names(), ElementsAre("a", "x", "x/y", "x/y/b"));
}

TEST_F(OutputSetTest, WithoutCommitEverythingIsAsItWas) {
  write("a");
  write("stale");
  {
    OutputSet set;
    set.add(path("a"), "later");
    set.makeFolder(path("x/y"));
    set.add(path("x/y/b"), "later");
    set.remove(path("stale"));
  }
  EXPECT_EQ(contents("a"), "old");
  EXPECT_THAT(names(), ElementsAre("a", "stale"));
}

TEST_F(OutputSetTest, AFolderThatWasThereBeforeStays) {
  fs::create_directory(path("x"));
  { OutputSet().makeFolder(path("x/y")); }
  EXPECT_THAT(names(), ElementsAre("x"));
}

TEST_F(OutputSetTest, WhenALaterFileHasNoRoomTheFirstIsUnchangedAndStaleFilesStay) {
  write("a");
  write("stale");
  OutputSet set;
  set.add(path("a"), "later");
  set.remove(path("stale"));
  OutputFile& large = set.add(path("b"));
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit limit = before;
  limit.rlim_cur = 1000;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  large.write(std::string(2000, 'x'));
  EXPECT_THAT([&] { set.commit(); }, ThrowsMessage<Error>(HasSubstr(path("b"))));
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(contents("a"), "old");
  EXPECT_EQ(contents("stale"), "old");
}

TEST_F(OutputSetTest, WhenStandardOutputIsFullNoFileAppears) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "no /dev/full on this system";
  write("a");
  {
    OutputSet set;
    set.add("/dev/full", "x");
    set.add(path("a"), "later");
    EXPECT_THAT([&] { set.commit(); }, ThrowsMessage<Error>(HasSubstr("No space left")));
  }
  EXPECT_EQ(contents("a"), "old");
  EXPECT_THAT(names(), ElementsAre("a"));
}

TEST_F(OutputSetTest, WhenALaterRenameFailsEarlierOnesAreTakenBack) {
  write("a");
  write("stale");
  {
    OutputSet set;
    set.add(path("a"), "later");
    set.add(path("fresh"), "later");
    set.add(path("b"), "later");
    set.remove(path("stale"));
    fs::create_directory(path("b"));  // in the way of the last one
    EXPECT_THAT([&] { set.commit(); }, ThrowsMessage<Error>(HasSubstr(path("b"))));
  }
  EXPECT_EQ(contents("a"), "old");
  EXPECT_EQ(contents("stale"), "old");
  EXPECT_THAT(names(), ElementsAre("a", "b", "stale"));
}

TEST_F(OutputSetTest, WhenAStaleFileCannotBeRemovedNothingChanges) {
  write("a");
  write("stale");
  fs::create_directory(path("no file"));
  {
    OutputSet set;
    set.add(path("a"), "later");
    set.remove(path("stale"));
    set.remove(path("no file"));
    EXPECT_THAT([&] { set.commit(); },
                ThrowsMessage<Error>(HasSubstr("cannot remove " + path("no file"))));
  }
  EXPECT_EQ(contents("a"), "old");
  EXPECT_EQ(contents("stale"), "old");
  EXPECT_THAT(names(), ElementsAre("a", "no file", "stale"));
}

TEST_F(OutputSetTest, AStaleFileThatIsGoneAlreadyIsNoError) {
  OutputSet set;
  set.add(path("a"), "later");
  set.remove(path("gone"));
  set.commit();
  EXPECT_THAT(names(), ElementsAre("a"));
}

TEST_F(OutputSetTest, OneFileCannotBeNamedTwice) {
  fs::create_symlink(path("a"), path("link"));
  OutputSet set;
  set.add(path("a"));
  for (const char* other : {"a", "./a", "link"}) {
    EXPECT_THAT([&] { set.add(path(other)); },
                ThrowsMessage<Error>(AllOf(HasSubstr(path(other)), HasSubstr("twice"))));
  }
  set.add("-");
  EXPECT_THAT([&] { set.add("-"); }, ThrowsMessage<Error>(HasSubstr("twice")));
}

TEST_F(OutputSetTest, AFileInPlaceOfTheFolderIsAnError) {
  write("file");
  for (const char* folder : {"file", "file/", "file/below"}) {
    EXPECT_THAT([&] { OutputSet().makeFolder(path(folder)); },
                ThrowsMessage<Error>(HasSubstr("cannot make the folder " + path(folder))));
  }
}

TEST_F(OutputSetTest, MoreFilesThanCanBeOpenAtOnceAreWritten) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit limit = before;
  limit.rlim_cur = 50;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  OutputSet set;
  for (int i = 0; i < 100; ++i) set.add(path(std::to_string(i)), "later");
  set.commit();
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(names().size(), 100U);
}

TEST_F(OutputSetTest, ASignalLeavesNoneOfManyFilesAndNoFolder) {
  const pid_t child = ::fork();
  if (child == 0) {
    removeUnfinishedFilesOnSignals();
    OutputSet set;
    set.makeFolder(path("x/y"));
    for (int i = 0; i < 100; ++i) set.add(path("x/y/" + std::to_string(i)), "later");
    ::raise(SIGTERM);
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_THAT(names(), IsEmpty());
}

}  // namespace
}  // namespace pipetrace
