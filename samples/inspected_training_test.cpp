// --inspect-every of the samples.
#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "runtime/testing/rank_processes.h"
#include "samples/testing/without_speeds.h"
#include "trace/testing/file_text.h"
#include "trace/testing/folders.h"

namespace pipetrace {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::ProcessEnd;
using testing::runProcess;

const std::vector<std::string> kTwoStages{test::inBuild("bin/sample-gpipe-mlp"), "--stages", "2",
                                          "--steps", "3"};

TEST(InspectedTrainingTest, ASampleWritesWhatItSawOfEachRankAndPrintsTheSameLosses) {
  const testing::ScratchFolder folder;
  std::vector<std::string> command = kTwoStages;
  command.insert(command.end(), {"--inspect-every", "2", "--log-dir", folder.path()});
  const ProcessEnd end = runProcess(command, {.environment = {{"PIPETRACE", "0"}}});
  EXPECT_EQ(end.exitCode, 0) << end.output;
  EXPECT_EQ(testing::withoutSpeeds(end.output),
            testing::withoutSpeeds(runProcess(kTwoStages).output));
  for (const int rank : {0, 1}) {
    const std::string stage = std::to_string(rank);
    const std::string lines = test::fileText(folder.path("inspect_rank" + stage + ".jsonl"));
    const std::string begin = "\"rank\":" + stage + ",\"stage\":" + stage + ",";
    const std::string sent = rank == 0 ? "\"sent\":\"send_forward\",\"to_stage\":1"
                                       : "\"sent\":\"send_backward\",\"to_stage\":0";
    EXPECT_THAT(lines, AllOf(HasSubstr("{\"step\":0," + begin + sent +
                                       ",\"micro_batch\":7,\"shape\":[2,30]"),
                             HasSubstr("{\"step\":2," + begin + "\"parameter\":"),
                             HasSubstr("\"gradient_norm_before\":null,\"gradient_norm_after\":0."),
                             Not(HasSubstr("{\"step\":1,"))));
  }
}

TEST(InspectedTrainingTest, AFolderThatCannotBeWrittenIsNamedBeforeTheFirstStep) {
  std::vector<std::string> command = kTwoStages;
  command.insert(command.end(), {"--inspect-every", "2", "--log-dir", "/dev/null/x"});
  const ProcessEnd end = runProcess(command, {.environment = {{"PIPETRACE", "0"}}});
  EXPECT_EQ(end.exitCode, 2);
  EXPECT_THAT(end.output, AllOf(HasSubstr("cannot make the folder /dev/null/x"),
                                Not(HasSubstr("step 0 loss"))));
}

}  // namespace
}  // namespace pipetrace
