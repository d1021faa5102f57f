#include "apps/pipe_run/launch.h"

#include <unistd.h>

#include <cstdlib>

#include "apps/pipe_run/restarts.h"
#include "runtime/launch/launcher.h"
#include "trace/error.h"

namespace pipetrace {

LaunchOptions launchOptionsOf(const PipeRunOptions& options) {
  // The ranks inherit it.
  if (!options.sendRecvOverlap) setenv("PIPETRACE_NO_SEND_RECV_OVERLAP", "1", 1);
  LaunchOptions launchOptions;
  launchOptions.masterPort = options.masterPort;
  launchOptions.recording = options.recording;
  launchOptions.reasonDisplay = STDERR_FILENO;
  return launchOptions;
}

int runLaunch(const PipeRunOptions& options) {
  if (options.command.empty()) {
    throw Error("no program to run; give it after --: pipe-run --ranks 4 -- ./train --epochs 3");
  }
  LaunchOptions launchOptions = launchOptionsOf(options);
  launchOptions.ranks = options.ranks.value_or(1);
  launchOptions.command = options.command;
  launchOptions.logDirectory = options.logDirectory.empty() ? "logs" : options.logDirectory;
  return launchAgain(options.restarts, [&](int restart) {
    launchOptions.restart = restart;
    return launch(launchOptions);
  });
}

}  // namespace pipetrace
