// One answer in both programs: the panel of what-ifs asks as `pipe-trace what-if` does.
#include <gmock/gmock.h>

#include "analysis/present/what_if_report.h"
#include "parser/chrome/write/writer.h"
#include "parser/testing/files.h"
#include "tests/testing/program_run.h"
#include "trace/error.h"
#include "trace/files/output_file.h"
#include "trace/log/write_job_logs.h"
#include "trace/testing/folders.h"
#include "viewer/run/loaded_profile.h"
#include "viewer/testing/asked_run.h"
#include "viewer/what_if/changes.h"

namespace pipetrace {
namespace {

class SameWhatIfTest : public test::FolderTest {
 protected:
  /// The command's answer in JSON. The options are those that the panel copies.
  static std::string command(const std::string& input, const WhatIfChanges& changes) {
    std::vector<std::string> words = {test::inBuild("bin/pipe-trace"), "what-if", input, "--json",
                                      "--quiet"};
    for (const std::string& option : changes.asked()) {
      const std::size_t blank = option.find(' ');
      words.push_back(option.substr(0, blank));
      if (blank != std::string::npos) words.push_back(option.substr(blank + 1));
    }
    const ProgramRun result = runProgram(words);
    EXPECT_EQ(result.exitCode, 0) << result.err << changes.text();
    return result.out;
  }
  /// The panel's: of the run as the window loads it.
  static std::string panel(const std::string& input, const WhatIfChanges& changes) {
    const auto profile = loadProfile({input});
    return whatIfJson({whatIf(profile->run(), changes.question()), changes.asked()});
  }
};

TEST_F(SameWhatIfTest, ThePanelAnswersAsTheCommandDoesToTheNanosecond) {
  writeJobLogs(askedRun()->timeline(), path("logs"));
  for (const char* text :
       {"--scale stage=1:0.69", "--scale stage=0:0.9 --scale rank=3:1.25 --scale link=0-1:3",
        "--scale kind=transfer:0", "--link 2-3=0.1ms", "--balance stages --no-launch",
        "--usual-launch 2", "--make-ideal stage=1", "--schedule ZB-H1 --split 2:1",
        "--schedule auto --limit-activations 3", "--scale rank=1:0.8 --chunks 2",
        "--micro-batches 16 --keep-batch", "--comm-streams rank --transfers in-time",
        "--stage-depths 4,3,2,1", "--partition 3,2,3,3 --blocks equal --run-partition 2,4,3,2"}) {
    const WhatIfChanges changes = WhatIfChanges::of(text);
    EXPECT_EQ(changes.text(), text);
    EXPECT_EQ(panel(path("logs"), changes), command(path("logs"), changes)) << text;
  }
}

TEST_F(SameWhatIfTest, SoItDoesOfAProfile) {
  OutputFile out(path("run.json"));
  writeChromeJson(askedRun()->timeline(), {}, out);
  out.commit();
  const WhatIfChanges changes = WhatIfChanges::of("--scale stage=1:0.69");
  EXPECT_EQ(panel(path("run.json"), changes), command(path("run.json"), changes));
}

}  // namespace
}  // namespace pipetrace
