// --checkpoint and what goes with it, --cost, and the line of a training on a terminal.
#include <gmock/gmock.h>

#include <csignal>
#include <filesystem>
#include <regex>
#include <string>
#include <thread>
#include <vector>

#include "analysis/run/costs/blocks_file.h"
#include "runtime/testing/rank_processes.h"
#include "samples/files/read_file.h"
#include "samples/testing/without_speeds.h"
#include "trace/testing/folders.h"

namespace pipetrace {
namespace {

using ::testing::ContainsRegex;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::ProcessEnd;
using testing::runProcess;
using testing::runProcesses;
using testing::ScratchFolder;
using ::testing::StartsWith;

const std::string kMlpToSave = test::inBuild("bin/sample-gpipe-mlp");

/// The lines of steps, without speeds.
std::vector<std::string> stepsOf(const ProcessEnd& end) {
  std::vector<std::string> steps;
  const std::string text = testing::withoutSpeeds(end.output);
  const std::regex line("step [0-9]+ loss [^\n]*");
  for (std::sregex_iterator it(text.begin(), text.end(), line); it != std::sregex_iterator();
       ++it) {
    steps.push_back(it->str());
  }
  return steps;
}

std::vector<std::string> trained(const std::vector<std::string>& options) {
  std::vector<std::string> command{kMlpToSave, "--steps", "6", "--lr-schedule", "cosine"};
  command.insert(command.end(), options.begin(), options.end());
  const ProcessEnd end = runProcess(command);
  EXPECT_EQ(end.exitCode, 0) << end.output;
  return stepsOf(end);
}

TEST(SampleCheckpointsTest, AResumedTrainingGoesOnUnderAnotherPlanWithTheLossesOfAnUncutOne) {
  const ScratchFolder folder;
  const std::string saved = folder.path("with a space");
  const std::vector<std::string> uncut =
      trained({"--checkpoint", saved, "--checkpoint-every", "2", "--keep", "2"});
  ASSERT_EQ(uncut.size(), 6U);
  // The newest two of 2, 4 and 6 are there.
  EXPECT_EQ(
      trained({"--checkpoint", saved, "--resume", "4", "--schedule", "1F1B", "--stages", "2"}),
      (std::vector<std::string>{uncut[4], uncut[5]}));
  const ProcessEnd gone = runProcess({kMlpToSave, "--checkpoint", saved, "--resume", "2"});
  EXPECT_EQ(gone.exitCode, 2);
  EXPECT_THAT(gone.output, HasSubstr(saved));
}

TEST(SampleCheckpointsTest, ASignalSavesAndTheNextRunGoesOnWhereItStopped) {
  const ScratchFolder folder;
  const std::vector<std::string> command{
      kMlpToSave, "--steps",      "1000000",        "--stages",
      "2",        "--checkpoint", folder.path("c"), "--checkpoint-on-stop"};
  std::thread signal;
  const ProcessEnd end =
      runProcess(command, {.whenStarted = [&](const std::vector<int>& pids) {
                   signal = std::thread([pid = pids.at(0), lock = folder.path("c/lock")] {
                     // It begins to train then.
                     for (int i = 0; i < 6000; ++i) {
                       if (std::filesystem::exists(lock)) break;
                       std::this_thread::sleep_for(std::chrono::milliseconds(10));
                     }
                     std::this_thread::sleep_for(std::chrono::milliseconds(200));
                     kill(pid, SIGTERM);
                   });
                 }});
  signal.join();
  EXPECT_EQ(end.exitCode, 128 + SIGTERM) << end.output.substr(end.output.size() - 300);
  EXPECT_THAT(end.output, HasSubstr("the training is saved in " + folder.path("c")));
  const std::size_t steps = stepsOf(end).size();
  ASSERT_GT(steps, 0U);
  const std::string next = std::to_string(steps);
  const ProcessEnd resumed =
      runProcess({kMlpToSave, "--steps", std::to_string(steps + 1), "--stages", "2", "--checkpoint",
                  folder.path("c"), "--resume"});
  EXPECT_EQ(resumed.exitCode, 0) << resumed.output;
  EXPECT_THAT(resumed.output, HasSubstr("note: goes on from step " + next + " of "));
  EXPECT_THAT(stepsOf(resumed), ::testing::ElementsAre(StartsWith("step " + next + " loss")));
}

TEST(SampleCheckpointsTest, TheTimeForATrainingIsUpAfterAStepThatIsSaved) {
  const ScratchFolder folder;
  const ProcessEnd end =
      runProcess({kMlpToSave, "--steps", "1000000", "--stages", "2", "--checkpoint",
                  folder.path("c"), "--exit-after", "0.002", "--log-every", "1000000"});
  EXPECT_EQ(end.exitCode, 0) << end.output;
  EXPECT_THAT(end.output, HasSubstr("0.002 minutes are over; the training is saved in "));
}

TEST(SampleCheckpointsTest, OptionsThatMeanNothingAreRefused) {
  const ScratchFolder folder;
  const std::string none = folder.path("none");
  for (const auto& [options, message] :
       std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"--resume"}, "--resume requires --checkpoint"},
           {{"--checkpoint-every", "2"}, "--checkpoint-every requires --checkpoint"},
           {{"--checkpoint", none, "--resume", "x"}, "x is no number of a step"},
           {{"--checkpoint", none, "--resume"}, "there is no checkpoint in " + none},
           {{"--checkpoint", none, "--keep", "0"}, "0 not in range"},
           {{"--checkpoint", "/dev/null/c"}, "/dev/null/c"}}) {
    std::vector<std::string> command{kMlpToSave};
    command.insert(command.end(), options.begin(), options.end());
    const ProcessEnd end = runProcess(command);
    EXPECT_EQ(end.exitCode, 2) << message;
    EXPECT_THAT(end.output, HasSubstr(message));
    EXPECT_THAT(end.output, Not(HasSubstr("loss")));
  }
}

TEST(SampleCostTest, ThePredictedStepIsPrintedAndNothingIsTrained) {
  const ProcessEnd end = runProcess({kMlpToSave, "--stages", "2", "--cost"});
  EXPECT_EQ(end.exitCode, 0) << end.output;
  EXPECT_THAT(end.output,
              ::testing::MatchesRegex("a step would take [0-9.]+ ms, bubble ratio 0\\.[0-9]+; "
                                      "measured in one thread\nrank 0 would need [0-9.]+ kB\n"
                                      "rank 1 would need [0-9.]+ kB\n"));
}

TEST(SampleCostTest, TheBestPartitionIsMeasuredWrittenAndTrainedWith) {
  const ScratchFolder folder;
  const std::string file = folder.path("partition.json");
  const std::vector<std::string> command{kMlpToSave, "--stages", "2", "--steps", "3"};
  const auto with = [&](const std::vector<std::string>& more) {
    std::vector<std::string> all = command;
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  const std::string blocks = folder.path("blocks.json");
  const auto ends = runProcesses(2, with({"--auto-partition", file, "--blocks-out", blocks}));
  std::string output;
  for (const ProcessEnd& end : ends) {
    EXPECT_EQ(end.exitCode, 0) << end.output;
    output += end.output;
  }
  EXPECT_THAT(output, ContainsRegex("best partition: [1-3], [1-3] blocks; a step would take "));
  EXPECT_THAT(output, HasSubstr("written to " + file));
  const BlockTable table = readBlocksFile(readFile(blocks), blocks);
  EXPECT_EQ(table.numBlocks(), 4);
  EXPECT_TRUE(table.hasMemory());
  EXPECT_GT(table.blocks[0].forward, 0);
  // The same losses as with the file.
  const auto again = runProcesses(2, with({"--partition", file}));
  EXPECT_EQ(stepsOf(ends[1]).size(), 3U);
  EXPECT_EQ(stepsOf(ends[1]), stepsOf(again[1]));
  EXPECT_THAT(runProcess(with({"--limit", "1"})).output,
              HasSubstr("--limit requires --auto-partition"));
  EXPECT_THAT(runProcess(with({"--auto-partition", file, "--blocks-out", "no/folder/b"})).output,
              HasSubstr("cannot create no/folder/b: "));
  const std::string link = folder.path("link.json");
  std::filesystem::create_symlink(file, link);
  EXPECT_THAT(runProcess(with({"--auto-partition", file, "--blocks-out", link})).output,
              HasSubstr(link + " is an input"));
  const ProcessEnd tight = runProcess(with({"--auto-partition", file, "--limit", "1e-6"}));
  EXPECT_EQ(tight.exitCode, 2);
  EXPECT_THAT(tight.output, HasSubstr("no partition fits into 0.0 MB a rank"));
}

// `script` gives the program a terminal.
TEST(ProgressTest, OnATerminalOneLineChangesAndHasTheBubbleRatioSoFar) {
  const ProcessEnd end = runProcess({"/usr/bin/script", "--quiet", "--return", "--flush",
                                     "--command", "'" + kMlpToSave + "' --steps 300", "/dev/null"});
  EXPECT_EQ(end.exitCode, 0) << end.output;
  EXPECT_THAT(end.output, StartsWith("\r\x1b[Kstep 0 loss 1."));
  const std::size_t last = end.output.rfind("\r\x1b[K");
  EXPECT_THAT(end.output.substr(last),
              ContainsRegex("step 299 loss 1\\.[0-9]+, bubble ratio 0\\.[0-9]+, [0-9]+ "
                            "samples/s\r\nmean loss"));
  EXPECT_THAT(end.output,
              ContainsRegex("bubble ratio 0\\.[0-9]+, [0-9]+ steps left \\(0:[0-9]+\\)"));
  EXPECT_EQ(std::count(end.output.begin(), end.output.end(), '\n'), 2) << end.output;
}

}  // namespace
}  // namespace pipetrace
