#include "runtime/starting_ranks/child_process.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "profiler/testing/recorded_log.h"
#include "runtime/starting_ranks/launcher.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

void makeProgram(const std::string& path, bool executable) {
  std::ofstream(path) << "#!/bin/sh\n";
  using std::filesystem::perms;
  std::filesystem::permissions(path, executable ? perms::owner_all : perms::owner_read);
}

class FindProgramTest : public testing::Test {
 protected:
  FindProgramTest() : before_(std::getenv("PATH")) {}
  ~FindProgramTest() override { setenv("PATH", before_.c_str(), 1); }

  const std::string before_;
  const RecordedLog folder_;
};

TEST_F(FindProgramTest, TheFirstExecutableOfThePathIsTaken) {
  const std::string first = folder_.folder() + "/first";
  const std::string second = folder_.folder() + "/second";
  std::filesystem::create_directories(first + "/folder");
  std::filesystem::create_directory(second);
  makeProgram(first + "/train", false);
  makeProgram(second + "/train", true);
  setenv("PATH", (first + ":" + second).c_str(), 1);
  EXPECT_EQ(findProgram("train"), second + "/train");
  EXPECT_EQ(findProgram(second + "/train"), second + "/train");
  EXPECT_THROW(findProgram(first + "/train"), Error) << "may not be executed";
  EXPECT_THROW(findProgram("folder"), Error);
  EXPECT_THROW(findProgram(""), Error);
}

TEST_F(FindProgramTest, OldLogsStayWhenTheProgramCannotRun) {
  std::ofstream(folder_.path(3)) << "worth keeping\n";
  for (const char* program : {"no-such-program", "/no/such/program", "/etc/passwd", "/"}) {
    LaunchOptions options;
    options.command = {program};
    options.logDirectory = folder_.folder();
    options.display = -1;
    EXPECT_THROW(launch(options), Error) << program;
    EXPECT_EQ(folder_.text(3), "worth keeping\n") << program;
  }
}

}  // namespace
}  // namespace pipetrace
