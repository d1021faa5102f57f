#include "apps/pipe_run/restarts.h"

#include <fmt/format.h>

#include <cstdio>

#include "apps/cli/command_line.h"

namespace pipetrace {
namespace {

void report(const LaunchResult& result) {
  for (const std::string& warning : result.warnings) {
    std::fputs(fmt::format("pipe-run: warning: {}\n", warning).c_str(), stderr);
  }
  if (result.reason.empty()) return;
  std::fputs(fmt::format("pipe-run: {}", result.reason).c_str(), stderr);
  if (!result.reason.ends_with('\n')) std::fputs("\n", stderr);
}

}  // namespace

int launchAgain(int restarts, const std::function<LaunchResult(int restart)>& start) {
  for (int restart = 0;; ++restart) {
    const LaunchResult result = start(restart);
    report(result);
    // A signal to pipe-run ends the run for good.
    if (result.exitCode != kExitCouldNot || restart == restarts) return result.exitCode;
    std::fputs(
        fmt::format("pipe-run: all ranks start again ({} of {})\n", restart + 1, restarts).c_str(),
        stderr);
  }
}

}  // namespace pipetrace
