#include <gmock/gmock.h>

#include <string>

#include "runtime/testing/rank_processes.h"
#include "trace/testing/file_text.h"
#include "trace/testing/folders.h"

namespace pipetrace {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;

const std::string kProgram = test::inBuild("bin/sample-first-training");

TEST(FirstTraining, IsTheProgramOfTheDocumentation) {
  const std::string program = test::fileText(test::inSources("samples/first_training/main.cpp"));
  const std::string page = test::fileText(test::inSources("docs/runtime.md"));
  EXPECT_THAT(page, HasSubstr("```cpp\n" + program.substr(program.find('\n') + 1) + "```\n"));
}

// Threads and processes print the same, and all processes know the loss.
TEST(FirstTraining, LearnsInThreadsAndInProcesses) {
  const testing::ScratchFolder folder;
  const auto inFolder = [&](const std::string& command) {
    return std::vector<std::string>{"/bin/sh", "-c", "cd '" + folder.path() + "' && " + command};
  };
  const testing::ProcessEnd threads = testing::runProcess(inFolder(kProgram));
  EXPECT_EQ(threads.exitCode, 0) << threads.output;
  EXPECT_THAT(threads.output, ContainsRegex("step 0 loss 1\\.[0-9]+, [0-9]+ samples/s\n"));
  const auto ends = testing::runProcesses(2, inFolder("exec " + kProgram));
  const auto lastLine = [](const std::string& output) {
    return output.substr(output.rfind("loss after"));
  };
  ASSERT_THAT(threads.output, HasSubstr("loss after the training: 0."));
  for (const testing::ProcessEnd& end : ends) {
    EXPECT_EQ(end.exitCode, 0) << end.output;
    EXPECT_EQ(lastLine(end.output), lastLine(threads.output));
  }
}

}  // namespace
}  // namespace pipetrace
