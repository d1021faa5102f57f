#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/pipe_trace/fixture.h"

namespace pipetrace {

/// Runs `pipe-trace plan`.
class PlanCommand : public PipeTrace {
 protected:
  static ProgramRun plan(std::vector<std::string> arguments, const ProgramSetting& setting = {}) {
    arguments.insert(arguments.begin(), "plan");
    return run(arguments, setting);
  }

  /// A plan for 4 ranks and 8 micro-batches, the size of the papers' pictures.
  static ProgramRun planOf(const std::string& name, std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"--schedule", name, "--ranks", "4", "--micro-batches", "8"});
    return plan(more);
  }

  static nlohmann::json jsonOf(const std::string& name, std::vector<std::string> more = {}) {
    more.emplace_back("--json");
    const ProgramRun result = planOf(name, more);
    EXPECT_EQ(result.exitCode, 0) << result.err;
    return nlohmann::json::parse(result.out);
  }

  static nlohmann::json summaryOf(const std::string& input) {
    const ProgramRun result = run({input, "--json", "--strict"});
    EXPECT_EQ(result.exitCode, 0) << result.err;
    return nlohmann::json::parse(result.out);
  }

  static std::vector<int> peaksOf(const nlohmann::json& plan) {
    std::vector<int> peaks;
    for (const nlohmann::json& rank : plan.at("ranks"))
      peaks.push_back(rank.at("peak_activations"));
    return peaks;
  }
};

}  // namespace pipetrace
