#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "schedule/build_schedule.h"
#include "schedule/simulate/simulate.h"
#include "tests/testing/program_run.h"
#include "trace/log/write_job_logs.h"
#include "trace/testing/folders.h"

namespace pipetrace {

/// All bytes of a file; nothing of one that is missing.
inline std::string contents(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

/// Runs pipe-trace in a folder with blanks in its name, removed at the end.
class PipeTrace : public testing::Test {
 protected:
  PipeTrace()
      : folder_(std::filesystem::path(testing::TempDir()) /
                ("pipe trace " + std::to_string(getpid()))) {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~PipeTrace() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  static ProgramRun run(std::vector<std::string> arguments, const ProgramSetting& setting = {}) {
    arguments.insert(arguments.begin(), test::inBuild("bin/pipe-trace"));
    return runProgram(arguments, setting);
  }

  /// 1F1B with 8 micro-batches; on 4 ranks 4 * (16 + 2) jobs, 4 * 2 * 3 * 8 / 4 messages per step.
  static Simulation sample(int steps = 1, int ranks = 4) {
    Costs costs = Costs::equal(ranks, {10 * kNsPerMs, 20 * kNsPerMs});
    costs.transfer = kNsPerMs;
    costs.lr = kNsPerMs / 10;
    costs.optimizer = 2 * kNsPerMs;
    return simulate(buildSchedule("1F1B", ranks, 8), costs,
                    {.steps = steps, .begin = 1'697'793'307'213'760'986});
  }

  std::string logs(const Simulation& simulation, const std::string& name = "my logs") const {
    writeJobLogs(simulation.timeline, path(name));
    return path(name);
  }

  std::vector<std::string> names() const {
    std::vector<std::string> list;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      list.push_back(entry.path().filename());
    }
    std::sort(list.begin(), list.end());
    return list;
  }

  void write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name), std::ios::binary) << text;
  }

  /// Expects exit code 2, nothing on standard output, and a message with both texts on standard
  /// error.
  static void expectError(const ProgramRun& result, const std::string& what,
                          const std::string& advice) {
    EXPECT_EQ(result.exitCode, 2);
    EXPECT_THAT(result.out, testing::IsEmpty());
    EXPECT_THAT(result.err, testing::AllOf(testing::HasSubstr(what), testing::HasSubstr(advice)));
    EXPECT_THAT(result.err, testing::EndsWith("\n"));
  }

  std::filesystem::path folder_;
};

}  // namespace pipetrace
