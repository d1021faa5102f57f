#include "apps/pipe_run/launch.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "runtime/launch/launcher.h"
#include "trace/error.h"

namespace pipetrace {

int runLaunch(const PipeRunOptions& options) {
  if (options.command.empty()) {
    throw Error("no program to run; give it after --: pipe-run --ranks 4 -- ./train --epochs 3");
  }
  LaunchOptions launchOptions;
  launchOptions.ranks = options.ranks;
  launchOptions.command = options.command;
  launchOptions.logDirectory = options.logDirectory;
  launchOptions.masterPort = options.masterPort;
  launchOptions.recording = options.recording;
  launchOptions.reasonDisplay = STDERR_FILENO;
  // The ranks inherit it.
  if (!options.sendRecvOverlap) setenv("PIPETRACE_NO_SEND_RECV_OVERLAP", "1", 1);
  const LaunchResult result = launch(launchOptions);
  for (const std::string& warning : result.warnings) {
    std::fputs(fmt::format("pipe-run: warning: {}\n", warning).c_str(), stderr);
  }
  if (!result.reason.empty()) {
    std::fputs(fmt::format("pipe-run: {}", result.reason).c_str(), stderr);
    if (!result.reason.ends_with('\n')) std::fputs("\n", stderr);
  }
  return result.exitCode;
}

}  // namespace pipetrace
