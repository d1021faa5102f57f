// One run in both programs: the viewer shows logs at the times that pipe-trace writes.
#include <gmock/gmock.h>

#include "ingest/testing/skewed_run.h"
#include "parser/testing/files.h"
#include "parser/testing/load_timeline.h"
#include "tests/testing/program_run.h"
#include "trace/log/write_job_logs.h"
#include "trace/testing/folders.h"
#include "viewer/run/loaded_profile.h"

namespace pipetrace {
namespace {

using test::describe;
using testing::AllOf;
using testing::HasSubstr;

constexpr Nanoseconds kBehind = 7'000'123;

class SameRunTest : public test::FolderTest {
 protected:
  void SetUp() override {
    FolderTest::SetUp();
    writeJobLogs(test::runOfTwoHosts(kBehind), logs());
  }

  std::string logs() const { return path("logs"); }

  /// The profile that pipe-trace writes of the logs.
  Timeline written(const std::string& name, std::vector<std::string> options = {}) const {
    options.insert(options.begin(), {test::inBuild("bin/pipe-trace"), logs(), "-o", path(name)});
    const ProgramRun result = runProgram(options);
    EXPECT_EQ(result.exitCode, 0) << result.err;
    Diagnostics diagnostics;
    return test::loadTimeline({path(name)}, {}, diagnostics);
  }

  static std::string shown(const std::string& input) {
    return describe(loadProfile({input})->timeline());
  }
};

TEST_F(SameRunTest, ViewerShowsLogsOfTwoHostsAtTheTimesThatPipeTraceWrites) {
  const Timeline profile = written("p.json");
  EXPECT_EQ(profile.span().begin, test::runOfTwoHosts(0).span().begin);
  EXPECT_EQ(shown(logs()), describe(profile));
}

TEST_F(SameRunTest, ViewerShowsAProfileAtTheTimesThatItWasWrittenWith) {
  for (const char* name : {"p.json", "p.pftrace", "p.sqlite"}) {
    const Timeline aligned = written(name);
    EXPECT_EQ(shown(path(name)), describe(aligned)) << name;
    const std::string asLogged = "as logged " + std::string(name);
    const Timeline unmoved = written(asLogged, {"--align", "none"});
    EXPECT_EQ(shown(path(asLogged)), describe(unmoved)) << name;
    EXPECT_NE(describe(unmoved), describe(aligned)) << name;
  }
}

TEST_F(SameRunTest, AlignNoneShowsLogsAtTheTimesThatWereLogged) {
  const std::string asLogged = describe(written("p.json", {"--align", "none"}));
  EXPECT_EQ(describe(loadProfile({logs()}, AlignBy::kNone)->timeline()), asLogged);
  EXPECT_NE(shown(logs()), asLogged);
  const ProgramRun result = runProgram({test::inBuild("bin/pipe-view"), logs(), "--export",
                                        path("p.svg"), "--all", "--align", "none"});
  EXPECT_EQ(result.exitCode, 0) << result.err;
  EXPECT_THAT(result.err, testing::Not(HasSubstr("were moved into rank 0's clock")));
}

TEST_F(SameRunTest, PicturesOfTwoHostsSayWhichTimesWereMoved) {
  const ProgramRun result =
      runProgram({test::inBuild("bin/pipe-view"), logs(), "--export", path("p.svg"), "--all"});
  EXPECT_EQ(result.exitCode, 0) << result.err;
  EXPECT_THAT(result.err, AllOf(HasSubstr("rank 1 were moved into rank 0's clock"),
                                HasSubstr("by up to 7.000 ms")));
}

}  // namespace
}  // namespace pipetrace
