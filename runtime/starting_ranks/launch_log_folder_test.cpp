#include "runtime/starting_ranks/launch_log_folder.h"

#include <gmock/gmock.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "profiler/testing/resource_limit.h"
#include "runtime/testing/shell_ranks.h"
#include "trace/error.h"
#include "trace/testing/file_text.h"

namespace pipetrace {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(LaunchLogFolderTest, StaleLogsAreRemovedAndNothingElse) {
  RecordedLog log;
  const std::vector<std::string> stale = {"workerlog.7", "workerlog.7.zst", "workerlog.0.ring",
                                          "workerlog.0.12.ring"};
  const std::vector<std::string> others = {
      "workerlog.x", "workerlog.zst",    "workerlog.",         "notes",
      "my.ring",     "workerlog.x.ring", "workerlog.0.x.ring", "workerlog.ring"};
  std::ofstream(log.path(0)) << "old\n";
  for (const auto& names : {stale, others}) {
    for (const std::string& name : names) std::ofstream(log.folder() + "/" + name) << "old\n";
  }
  EXPECT_EQ(launch(shellRanks(log, 1, "echo new")).exitCode, 0);
  EXPECT_EQ(log.text(0), "new\n");
  for (const std::string& name : stale) {
    EXPECT_FALSE(std::filesystem::exists(log.folder() + "/" + name)) << name;
  }
  for (const std::string& name : others) {
    EXPECT_TRUE(std::filesystem::exists(log.folder() + "/" + name)) << name;
  }
}

TEST(LaunchLogFolderTest, PathsMayHoldBlanks) {
  RecordedLog log;
  const std::string folder = log.folder() + "/a b";
  std::filesystem::create_directory(folder);
  const std::string program = folder + "/my program";
  std::ofstream(program) << "#!/bin/sh\necho \"$1|$2|$PIPETRACE_LOG_DIR\"\n";
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  LaunchOptions options;
  options.command = {program, "x y", ""};
  options.logDirectory = folder + "/my logs";
  options.display = -1;
  EXPECT_EQ(launch(options).exitCode, 0);
  EXPECT_EQ(test::fileText(folder + "/my logs/workerlog.0"), "x y||" + folder + "/my logs\n");
}

TEST(LaunchLogFolderTest, ALogFolderThatCannotBeMadeIsNamed) {
  RecordedLog log;
  std::ofstream(log.folder() + "/file") << "x";
  LaunchOptions options = shellRanks(log, 1, "true");
  options.logDirectory = log.folder() + "/file/logs";
  try {
    launch(options);
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr(options.logDirectory));
  }
}

TEST(LaunchLogFolderTest, AFullDiskForTheLogsIsReportedAndStopsNothing) {
  RecordedLog log;
  const auto before = std::signal(SIGXFSZ, SIG_IGN);
  LaunchResult result;
  {
    const FileSizeLimit full(0);
    result = launch(shellRanks(log, 1, "echo lost; echo also lost"));
  }
  std::signal(SIGXFSZ, before);
  EXPECT_EQ(result.exitCode, 0);
  ASSERT_EQ(result.warnings.size(), 1u);
  EXPECT_THAT(result.warnings[0], AllOf(HasSubstr(log.path(0)), HasSubstr("File too large")));
}

TEST(LaunchLogFolderTest, ALinkInThePlaceOfALogIsRefusedAndItsTargetStaysAsItIs) {
  RecordedLog log;
  std::ofstream(log.folder() + "/target") << "mine\n";
  std::filesystem::create_symlink("target", log.path(0));
  try {
    launch(shellRanks(log, 1, "echo planted"));
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr(log.path(0)), HasSubstr("symbolic link")));
  }
  EXPECT_EQ(test::fileText(log.folder() + "/target"), "mine\n");
}

TEST(LaunchLogFolderTest, AFolderThatOthersMayWriteToIsSaidInOneWarning) {
  RecordedLog log;
  std::filesystem::permissions(log.folder(), std::filesystem::perms::all);
  const LaunchResult result = launch(shellRanks(log, 2, "true"));
  EXPECT_EQ(result.exitCode, 0);
  ASSERT_EQ(result.warnings.size(), 1u);
  EXPECT_THAT(result.warnings[0], AllOf(HasSubstr(log.folder()), HasSubstr("chmod go-w")));
}

}  // namespace
}  // namespace pipetrace
