#include "trace/files/unfinished_files.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>

#include "trace/files/output_file.h"

namespace pipetrace {
namespace {

namespace fs = std::filesystem;

/// Runs `body` in a child; returns its wait status.
template <typename Body>
int inChild(Body body) {
  const pid_t child = ::fork();
  if (child == 0) {
    body();
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return status;
}

class UnfinishedFiles : public testing::Test {
 protected:
  UnfinishedFiles()
      : folder_(fs::path(testing::TempDir()) / ("unfinished " + std::to_string(::getpid()))) {
    fs::create_directories(folder_);
  }
  ~UnfinishedFiles() override { fs::remove_all(folder_); }

  fs::path folder_;
};

class UnfinishedFilesBySignal : public UnfinishedFiles, public testing::WithParamInterface<int> {};

TEST_P(UnfinishedFilesBySignal, AreRemovedAndFinishedOnesStay) {
  const int signal = GetParam();
  const int status = inChild([&] {
    std::signal(signal, SIG_DFL);  // a shell's background jobs ignore SIGINT
    removeUnfinishedFilesOnSignals();
    writeWholeFile(folder_ / "done", "whole");
    writeWholeFile(folder_ / "old", "before");
    OutputFile replacing(folder_ / "old");
    OutputFile fresh(folder_ / "new");
    fresh.write(std::string(3 << 20, 'x'));
    ::raise(signal);
  });
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), signal);
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder_))
    names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names, (std::vector<std::string>{"done", "old"}));
  std::string text;
  std::getline(std::ifstream(folder_ / "old") >> std::ws, text);
  EXPECT_EQ(text, "before");
}

INSTANTIATE_TEST_SUITE_P(Signals, UnfinishedFilesBySignal,
                         testing::Values(SIGINT, SIGTERM, SIGHUP));

TEST_F(UnfinishedFiles, IgnoredSignalsStayIgnored) {
  const int status = inChild([&] {
    std::signal(SIGHUP, SIG_IGN);
    removeUnfinishedFilesOnSignals();
    ::raise(SIGHUP);
    ::_exit(7);
  });
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 7);
}

TEST_F(UnfinishedFiles, AreKeptWhenAForkedChildIsKilled) {
  const int status = inChild([&] {
    removeUnfinishedFilesOnSignals();
    OutputFile file(folder_ / "new");
    inChild([] { ::raise(SIGTERM); });
    file.commit();
  });
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_TRUE(fs::exists(folder_ / "new"));
}

TEST_F(UnfinishedFiles, AreForgottenSoThatTheirSlotsCanBeUsedAgain) {
  for (int i = 0; i < 100; ++i) {
    const int slot = rememberUnfinishedFile("x");
    EXPECT_GE(slot, 0);
    forgetUnfinishedFile(slot);
  }
  EXPECT_EQ(rememberUnfinishedFile(std::string(5000, 'x')), -1);
}

}  // namespace
}  // namespace pipetrace
