#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "tests/pipe_trace/fixture.h"

namespace pipetrace {

/// Runs `pipe-trace --follow` on a folder `live` whose logs the test lets grow.
class Follow : public PipeTrace {
 protected:
  Follow() { std::filesystem::create_directory(path("live")); }

  /// Whole lines of the log of a rank, of `folder`.
  static std::vector<std::string> linesOf(const std::string& folder, int rank) {
    std::vector<std::string> lines;
    std::istringstream in(contents(folder + "/workerlog." + std::to_string(rank)));
    for (std::string line; std::getline(in, line);) lines.push_back(line + "\n");
    // Writes them as a running program does: step by step.
    const std::regex step(" step = (\\d+)");
    const auto stepOf = [&](const std::string& line) {
      std::smatch match;
      if (std::regex_search(line, match, step)) return std::stoi(match[1]);
      return line.find("Profiler Meta") != std::string::npos ? -1 : 1 << 20;
    };
    std::stable_sort(lines.begin(), lines.end(), [&](const std::string& a, const std::string& b) {
      return stepOf(a) < stepOf(b);
    });
    return lines;
  }

  void append(int rank, const std::string& text) const {
    std::ofstream(path("live/workerlog." + std::to_string(rank)), std::ios::app | std::ios::binary)
        << text;
  }

  /// Waits until `isTrue`; false when it never is.
  static bool waitUntil(const std::function<bool()>& isTrue) {
    for (int tries = 0; tries < 60'000; ++tries) {
      if (isTrue()) return true;
      ::usleep(1000);
    }
    return false;
  }

  std::string profile() const { return contents(path("live.json")); }

  /// The steps of which something is in the profile so far, read as a viewer would.
  std::set<int> stepsWritten() const {
    std::set<int> steps;
    std::string text = profile();
    if (!text.ends_with("]\n")) text += "]";
    const nlohmann::json events = nlohmann::json::parse(text, nullptr, false);
    for (const auto& event : events) {
      if (event.is_object() && event.value("ph", "") == "X" && event["args"].contains("step")) {
        steps.insert(event["args"]["step"].get<int>());
      }
    }
    return steps;
  }

  ProgramRun follow(const std::function<void(pid_t)>& meanwhile,
                    std::vector<std::string> more = {}) const {
    more.insert(more.begin(), {path("live"), "--follow", "-o", path("live.json")});
    return run(more, {.meanwhile = meanwhile});
  }

  /// Every event of a profile or of logs, as a line of CSV.
  std::string eventsOf(const std::string& input, std::vector<std::string> more = {}) const {
    more.insert(more.begin(), {input, "-q", "-o", path("events.csv")});
    EXPECT_EQ(run(more).exitCode, 0);
    return contents(path("events.csv"));
  }
};

}  // namespace pipetrace
