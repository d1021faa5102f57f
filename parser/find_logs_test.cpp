#include "parser/find_logs.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include "parser/test_files.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::Eq;
using testing::HasSubstr;
using testing::Optional;
using testing::Pair;
using testing::ThrowsMessage;

class FindLogsTest : public test::FolderTest {
 protected:
  std::vector<std::pair<std::string, int>> found() const {
    std::vector<std::pair<std::string, int>> list;
    for (const FoundLog& log : findLogs(folder_.string())) {
      list.emplace_back(std::filesystem::relative(log.path, folder_).string(),
                        log.rank.value_or(-1));
    }
    return list;
  }
};

TEST_F(FindLogsTest, TheRankIsInTheName) {
  EXPECT_THAT(rankOfLogName("workerlog.0"), Optional(Eq(0)));
  EXPECT_THAT(rankOfLogName("workerlog.127"), Optional(Eq(127)));
  for (const char* name :
       {"workerlog", "workerlog.", "workerlog.x", "workerlog.-1", "workerlog.1x", "workerlog.0.gz",
        "xworkerlog.0", "workerlog.2147483647", "workerlog.99999999999"}) {
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

TEST_F(FindLogsTest, RanksAreCountedThroughAllMachinesInNaturalOrder) {
  for (const char* name : {"machine10/workerlog.0", "machine2/workerlog.1", "machine2/workerlog.0",
                           "machine0/workerlog.0", "machinex/workerlog.0"}) {
    write(name, "");
  }
  EXPECT_THAT(found(),
              ElementsAre(Pair("machine0/workerlog.0", 0), Pair("machine2/workerlog.0", 1),
                          Pair("machine2/workerlog.1", 2), Pair("machine10/workerlog.0", 3)));
}

TEST_F(FindLogsTest, LogsInTheFolderItselfComeBeforeThoseOfMachines) {
  write("workerlog.0", "");
  write("machine0/workerlog.0", "");
  EXPECT_THAT(found(), ElementsAre(Pair("workerlog.0", 0)));
}

TEST_F(FindLogsTest, LinksThatLeadBackDoNotTrapTheSearch) {
  std::filesystem::create_directory_symlink(".", path("machine0"));
  std::filesystem::create_symlink("machine1", path("machine1"));
  std::filesystem::create_symlink("workerlog.1", path("workerlog.1"));
  EXPECT_THROW(found(), Error);
  write("machine2/workerlog.0", "");
  EXPECT_THAT(found(), ElementsAre(Pair("machine2/workerlog.0", 0)));
}

TEST_F(FindLogsTest, PipesAreNotWaitedFor) {
  ASSERT_EQ(::mkfifo(path("workerlog.0").c_str(), 0600), 0);
  write("workerlog.1", "");
  EXPECT_THAT(found(), ElementsAre(Pair("workerlog.1", 1)));
}

TEST_F(FindLogsTest, AFolderWithoutLogsIsAnErrorThatSaysWhatALogIsCalled) {
  EXPECT_THAT([&] { found(); },
              ThrowsMessage<Error>(AllOf(HasSubstr(folder_.string()), HasSubstr("it is empty"),
                                         HasSubstr("workerlog.<rank>"))));
  write("profile.json", "");
  EXPECT_THAT([&] { found(); }, ThrowsMessage<Error>(HasSubstr("it holds profile.json")));
}

}  // namespace
}  // namespace pipetrace
