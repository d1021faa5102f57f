#include "parser/find_logs.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include "parser/testing/files.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::Eq;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Optional;
using testing::Pair;
using testing::ThrowsMessage;
using testing::UnorderedElementsAre;

class FindLogsTest : public test::FolderTest {
 protected:
  /// Paths and ranks, -1 for none.
  std::vector<std::pair<std::string, int>> found() {
    std::vector<std::pair<std::string, int>> list;
    diagnostics_ = {};
    for (const FoundLog& log : findLogs(folder_.string(), diagnostics_)) {
      list.emplace_back(log.path.substr(folder_.string().size() + 1), log.rank.value_or(-1));
    }
    return list;
  }
  std::vector<std::string> reported() const {
    std::vector<std::string> list;
    for (const Diagnostic& d : diagnostics_.list()) list.push_back(toText(d));
    return list;
  }

  Diagnostics diagnostics_;
};

TEST_F(FindLogsTest, TheRankIsInTheName) {
  EXPECT_THAT(rankOfLogName("workerlog.0"), Optional(Eq(0)));
  EXPECT_THAT(rankOfLogName("workerlog.127"), Optional(Eq(127)));
  EXPECT_THAT(rankOfLogName("workerlog.12.gz"), Optional(Eq(12)));
  EXPECT_THAT(rankOfLogName("workerlog.12.zst"), Optional(Eq(12)));
  for (const char* name :
       {"workerlog", "workerlog.", "workerlog.x", "workerlog.-1", "workerlog.1x", "workerlog.gz",
        "workerlog..gz", "workerlog.0.gz.gz", "workerlog.0.zst.gz", "xworkerlog.0",
        "workerlog.2147483647", "workerlog.99999999999"}) {
    EXPECT_EQ(rankOfLogName(name), std::nullopt) << name;
  }
}

TEST_F(FindLogsTest, LogsOfAFolderComeInTheOrderOfTheirRanks) {
  for (const char* name :
       {"workerlog.10", "workerlog.2", "workerlog.0", "notes.txt", "workerlog"}) {
    write(name, "");
  }
  EXPECT_THAT(found(), ElementsAre(Pair("workerlog.0", 0), Pair("workerlog.2", 2),
                                   Pair("workerlog.10", 10)));
}

TEST_F(FindLogsTest, ACompressedLogIsReadUnlessItIsThereUncompressed) {
  for (const char* name :
       {"machine0/workerlog.0.gz", "machine0/workerlog.1.gz", "machine1/workerlog.0.gz"}) {
    write(name, "");
  }
  write("machine0/workerlog.0", "hello\nProfiler Meta: rank = 0\n");
  EXPECT_THAT(found(),
              ElementsAre(Pair("machine0/workerlog.0", 0), Pair("machine0/workerlog.1.gz", 1),
                          Pair("machine1/workerlog.0.gz", 2)));
  EXPECT_THAT(reported(),
              ElementsAre(AllOf(HasSubstr("machine0/workerlog.0.gz: warning: was left out"),
                                HasSubstr("name it"))));
}

TEST_F(FindLogsTest, WhatARankPrintedIsNoLogBesideACompressedOne) {
  write("workerlog.0", "step 1 took 2 s\n");
  write("workerlog.0.zst", "");
  write("workerlog.1", "step 1 took 2 s\n");
  EXPECT_THAT(found(), ElementsAre(Pair("workerlog.0.zst", 0), Pair("workerlog.1", 1)));
  EXPECT_THAT(reported(), IsEmpty());
}

TEST_F(FindLogsTest, RanksAreCountedThroughAllMachinesInNaturalOrder) {
  for (const char* name : {"machine10/workerlog.0", "machine2/workerlog.1", "machine2/workerlog.0",
                           "machine0/workerlog.0", "machinex/workerlog.0"}) {
    write(name, "");
  }
  EXPECT_THAT(found(),
              ElementsAre(Pair("machine0/workerlog.0", 0), Pair("machine2/workerlog.0", 1),
                          Pair("machine2/workerlog.1", 2), Pair("machine10/workerlog.0", 3),
                          Pair("machinex/workerlog.0", 0)));  // of no machine
}

TEST_F(FindLogsTest, LogsInTheFolderItselfComeBeforeThoseOfMachines) {
  write("workerlog.0", "");
  write("machine0/workerlog.0", "");
  EXPECT_THAT(found(), ElementsAre(Pair("workerlog.0", 0)));
  EXPECT_THAT(reported(), ElementsAre(AllOf(HasSubstr("machine0"), HasSubstr("left out"))));
}

TEST_F(FindLogsTest, FoldersAreSearchedRecursivelyAndLogsComeFirst) {
  for (const char* name : {"run10/workerlog.0", "run9/out/rank10.json", "run9/out/rank9.json.gz",
                           "a.pftrace", "run9/machine1/workerlog.0", "run9/machine0/workerlog.0",
                           "nsys.sqlite", "notes.md", ".hidden/workerlog.7", ".json"}) {
    write(name, "");
  }
  EXPECT_THAT(
      found(),
      ElementsAre(Pair("run9/machine0/workerlog.0", 0), Pair("run9/machine1/workerlog.0", 1),
                  Pair("run10/workerlog.0", 0), Pair("a.pftrace", -1), Pair("nsys.sqlite", -1),
                  Pair("run9/out/rank9.json.gz", -1), Pair("run9/out/rank10.json", -1)));
  EXPECT_THAT(reported(), IsEmpty());
}

TEST_F(FindLogsTest, LinksThatLeadBackDoNotTrapTheSearch) {
  std::filesystem::create_directory_symlink(".", path("machine0"));
  std::filesystem::create_directory_symlink(folder_, path("self"));
  std::filesystem::create_symlink("machine1", path("machine1"));
  std::filesystem::create_symlink("workerlog.1", path("workerlog.1"));
  EXPECT_THROW(found(), Error);
  write("machine2/workerlog.0", "");
  std::filesystem::create_directory_symlink("..", path("machine2/up"));
  EXPECT_THAT(found(), ElementsAre(Pair("machine2/workerlog.0", 0)));
  const auto leftOut = [&](const std::string& name) {
    return AllOf(HasSubstr(path(name) + ": note: "), HasSubstr("was left out"));
  };
  EXPECT_THAT(reported(),
              UnorderedElementsAre(leftOut("machine0"), leftOut("self"), leftOut("machine2/up"),
                                   AllOf(HasSubstr("workerlog.1"), HasSubstr("symbolic links"))));
}

TEST_F(FindLogsTest, ALinkToAFolderAboveIsLeftOutWithANote) {
  std::filesystem::create_directory_symlink("/", path("all"));
  std::filesystem::create_directory_symlink(folder_.parent_path(), path("above"));
  write("workerlog.0", "");
  EXPECT_THAT(found(), ElementsAre(Pair("workerlog.0", 0)));
  EXPECT_THAT(reported(),
              ElementsAre(AllOf(HasSubstr(path("above") + ": note: "), HasSubstr("left out")),
                          AllOf(HasSubstr(path("all") + ": note: "), HasSubstr("left out"))));
}

TEST_F(FindLogsTest, ALinkIsNotFollowedToAnotherFileSystem) {
  struct stat here {};
  struct stat there {};
  ASSERT_EQ(::stat(folder_.c_str(), &here), 0);
  if (::stat("/proc/self", &there) != 0 || here.st_dev == there.st_dev) GTEST_SKIP() << "no /proc";
  std::filesystem::create_directory_symlink("/proc/self", path("process"));
  write("workerlog.0", "");
  EXPECT_THAT(found(), ElementsAre(Pair("workerlog.0", 0)));
  EXPECT_THAT(reported(), ElementsAre(AllOf(HasSubstr(path("process") + ": note: "),
                                            HasSubstr("another file system"))));
}

TEST_F(FindLogsTest, ALinkToAnEmptyFileOfAnotherFileSystemIsLeftOut) {
  struct stat here {};
  struct stat there {};
  ASSERT_EQ(::stat(folder_.c_str(), &here), 0);
  const bool isThere = ::stat("/proc/self/status", &there) == 0 && there.st_size == 0;
  if (!isThere || here.st_dev == there.st_dev) GTEST_SKIP() << "no /proc";
  std::filesystem::create_symlink("/proc/self/status", path("workerlog.1"));
  write("workerlog.0", "");
  EXPECT_THAT(found(), ElementsAre(Pair("workerlog.0", 0)));
  EXPECT_THAT(reported(), ElementsAre(AllOf(HasSubstr(path("workerlog.1")),
                                            HasSubstr("empty file on another file system"))));
}

TEST_F(FindLogsTest, ALinkOutOfTheFolderIsFollowedThreeFoldersDeep) {
  write("elsewhere/1/2/3/workerlog.0", "");
  write("elsewhere/1/2/3/4/workerlog.1", "");
  write("elsewhere/1/2/3/5/workerlog.2", "");
  write("logs/a/b/c/d/e/workerlog.3", "");
  std::filesystem::create_directory_symlink(path("elsewhere"), path("logs/run"));
  std::filesystem::create_directory_symlink(path("logs/a"), path("logs/0"));
  folder_ = path("logs");
  EXPECT_THAT(found(),
              ElementsAre(Pair("0/b/c/d/e/workerlog.3", 3), Pair("run/1/2/3/workerlog.0", 0)));
  EXPECT_THAT(reported(), ElementsAre(AllOf(HasSubstr(path("run") + ": note: "),
                                            HasSubstr("more than 3 below it"))));
  folder_ = folder_.parent_path();
}

TEST_F(FindLogsTest, AFolderUnderTwoNamesIsSearchedOnce) {
  write("run3/workerlog.0", "");
  std::filesystem::create_directory_symlink("run3", path("latest"));
  EXPECT_THAT(found(), ElementsAre(Pair("latest/workerlog.0", 0)));
}

TEST_F(FindLogsTest, PipesSocketsAndBrokenLinksAreReportedAndNotWaitedFor) {
  ASSERT_EQ(::mkfifo(path("workerlog.0").c_str(), 0600), 0);
  ASSERT_EQ(::mkfifo(path("pipe.json").c_str(), 0600), 0);
  ASSERT_EQ(::mkfifo(path("other").c_str(), 0600), 0);
  std::filesystem::create_symlink("nowhere", path("workerlog.2"));
  ASSERT_EQ(::mknod(path("workerlog.3").c_str(), S_IFSOCK | 0600, 0), 0);
  write("workerlog.1", "");
  EXPECT_THAT(found(), ElementsAre(Pair("workerlog.1", 1)));
  EXPECT_THAT(reported(),
              UnorderedElementsAre(AllOf(HasSubstr("workerlog.0"), HasSubstr("no plain file"),
                                         HasSubstr("pipe-trace - < " + path("workerlog.0"))),
                                   AllOf(HasSubstr("pipe.json"), HasSubstr("no plain file"),
                                         HasSubstr("name it to read it")),
                                   AllOf(HasSubstr("workerlog.2"), HasSubstr("No such file")),
                                   AllOf(HasSubstr("workerlog.3"), HasSubstr("no plain file"))));
}

TEST_F(FindLogsTest, AFolderWithoutLogsIsAnErrorThatSaysWhatALogIsCalled) {
  EXPECT_THAT([&] { found(); },
              ThrowsMessage<Error>(AllOf(HasSubstr(folder_.string()), HasSubstr("it is empty"),
                                         HasSubstr("workerlog.<rank>"))));
  write("readme.md", "");
  EXPECT_THAT([&] { found(); }, ThrowsMessage<Error>(HasSubstr("it holds readme.md")));
}

TEST(NaturalOrderTest, RunsOfDigitsAreComparedAsNumbers) {
  const std::vector<std::string> inOrder = {"",           "machine",   "machine0",  "machine02",
                                            "machine2",   "machine2a", "machine10", "machine010b",
                                            "machine10b", "node1x9",   "node1x10"};
  for (std::size_t i = 0; i < inOrder.size(); ++i) {
    for (std::size_t j = 0; j < inOrder.size(); ++j) {
      EXPECT_EQ(naturallyBefore(inOrder[i], inOrder[j]), i < j) << inOrder[i] << ' ' << inOrder[j];
    }
  }
}

TEST(NaturalOrderTest, NumbersOfAnyLengthAreComparedAsNumbers) {
  EXPECT_TRUE(naturallyBefore("a99999999999999999998", "a99999999999999999999"));
  EXPECT_FALSE(naturallyBefore("a100000000000000000000", "a99999999999999999999"));
}

}  // namespace
}  // namespace pipetrace
