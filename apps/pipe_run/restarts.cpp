#include "apps/pipe_run/restarts.h"

#include <fmt/format.h>

#include "apps/cli/command_line.h"
#include "apps/cli/print.h"

namespace pipetrace {
namespace {

void report(const LaunchResult& result) {
  for (const std::string& warning : result.warnings) {
    printError(fmt::format("pipe-run: warning: {}", warning));
  }
  if (result.reason.empty()) return;
  printError(fmt::format("pipe-run: {}", result.reason));
}

}  // namespace

int launchAgain(int restarts, const std::function<LaunchResult(int restart)>& start) {
  for (int restart = 0;; ++restart) {
    const LaunchResult result = start(restart);
    report(result);
    // A signal to pipe-run ends the run for good.
    if (result.exitCode != kExitCouldNot || restart == restarts) return result.exitCode;
    printError(fmt::format("pipe-run: all ranks start again ({} of {})", restart + 1, restarts));
  }
}

}  // namespace pipetrace
