#include <gmock/gmock.h>

#include "parser/load_timeline.h"
#include "parser/testing/files.h"
#include "parser/testing/load_timeline.h"
#include "parser/testing/timelines.h"
#include "trace/error.h"
#include "trace/log/write_job_logs.h"

namespace pipetrace {
namespace {

using testing::HasSubstr;

class ManyLogs : public test::FolderTest {
 protected:
  void SetUp() override {
    FolderTest::SetUp();
    writeJobLogs(test::oneFOneB(40, 8, 2), path("logs"));
  }

  /// The result of reading the folder, as text, or the error.
  std::string read(int threads) const {
    Diagnostics diagnostics;
    std::vector<LoadedFile> files;
    std::string text;
    try {
      text = test::describe(
          test::loadTimeline({path("logs")}, {.threads = threads}, diagnostics, &files));
    } catch (const Error& error) {
      text = error.what();
    }
    for (const LoadedFile& file : files) text += file.path + std::to_string(file.events) + "\n";
    for (const Diagnostic& diagnostic : diagnostics.list()) text += toText(diagnostic) + "\n";
    return text;
  }

  void expectSameOnManyThreads() const {
    const std::string one = read(1);
    for (int round = 0; round < 5; ++round) {
      EXPECT_EQ(read(2), one);
      EXPECT_EQ(read(7), one);
    }
  }

  std::string log(int rank) const { return "logs/workerlog." + std::to_string(rank); }
};

TEST_F(ManyLogs, GiveTheSameRunOnAnyNumberOfThreads) { expectSameOnManyThreads(); }

TEST_F(ManyLogs, GiveTheSameDiagnosticsOnAnyNumberOfThreads) {
  write(log(3), "no job here\n");
  write(log(17), contents(log(18)));  // names rank 18
  write(log(25), contents(log(25)) + "Profiler Info: Job (1), type = for");
  write(log(33), R"([{"ph":"X","name":"a","pid":5,"tid":1,"ts":1,"dur":2}])");
  expectSameOnManyThreads();
  EXPECT_THAT(read(2), HasSubstr("no job in it"));
}

TEST_F(ManyLogs, TheFirstOfSeveralThatCannotBeReadIsReported) {
  for (const int rank : {9, 12, 30}) write(log(rank), std::string("\x89PNG\r\n\0\0\1", 9));
  expectSameOnManyThreads();
}

}  // namespace
}  // namespace pipetrace
