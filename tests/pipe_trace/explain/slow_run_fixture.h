#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "schedule/build_schedule.h"
#include "tests/pipe_trace/fixture.h"
#include "trace/testing/folders.h"

namespace pipetrace {

/// Runs a command that explains runs, and makes runs with a slow stage.
class SlowRuns : public PipeTrace {
 protected:
  static ProgramRun ask(const char* command, std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), command);
    return run(std::move(arguments));
  }

  static nlohmann::json jsonOf(const char* command, std::vector<std::string> arguments,
                               int exitCode = 0) {
    arguments.emplace_back("--json");
    const ProgramRun result = ask(command, std::move(arguments));
    EXPECT_EQ(result.exitCode, exitCode) << result.err;
    return nlohmann::json::parse(result.out);
  }

  /// One of 4 stages takes `percent` % of the time of the others.
  static Costs costsWith(int stage, int percent) {
    Costs costs = Costs::equal(4, {10 * kNsPerMs, 20 * kNsPerMs});
    costs.stages[static_cast<std::size_t>(stage)] = {percent * kNsPerMs / 10,
                                                     percent * kNsPerMs / 5};
    costs.transfer = kNsPerMs / 10;
    costs.optimizer = 2 * kNsPerMs;
    return costs;
  }

  /// Four steps of 8 micro-batches.
  static Simulation slowRun(int stage, int percent, const char* schedule = "1F1B") {
    return simulate(buildSchedule(schedule, 4, 8), costsWith(stage, percent),
                    {.steps = 4, .stepsStartTogether = true});
  }

  /// `schema`: a file of docs/.
  static void expectValid(const std::string& text, const std::string& schema) {
    const ProgramRun check =
        runProgram({"/usr/bin/python3", test::inSources("tests/pipe_trace/check_schema.py"),
                    test::inSources("docs/") + schema},
                   {.input = text});
    if (check.exitCode == 77) GTEST_SKIP() << check.out;
    EXPECT_EQ(check.exitCode, 0) << check.out << check.err;
  }
};

}  // namespace pipetrace
