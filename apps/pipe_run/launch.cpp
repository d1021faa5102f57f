#include "apps/pipe_run/launch.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "apps/cli/command_app.h"
#include "apps/cli/print.h"
#include "runtime/starting_ranks/hosts/agent.h"
#include "runtime/starting_ranks/hosts/host_list.h"
#include "runtime/starting_ranks/launcher.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

void report(const LaunchResult& result) {
  for (const std::string& warning : result.warnings) {
    printError(fmt::format("pipe-run: warning: {}", warning));
  }
  if (result.reason.empty()) return;
  printError(fmt::format("pipe-run: {}", result.reason));
}

/// All but the ranks.
HostOptions hostOptions(const PipeRunOptions& options) {
  HostOptions hosts;
  if (!options.remoteShell.empty()) hosts.remoteShell = options.remoteShell;
  hosts.prefix = options.prefix;
  hosts.agent = std::filesystem::read_symlink("/proc/self/exe").string();
  hosts.version = PIPETRACE_VERSION;
  hosts.masterAddress = options.masterAddress;
  hosts.startTimeout = static_cast<Nanoseconds>(options.startTimeout * kNsPerSecond);
  return hosts;
}

std::vector<RankHost> namedHosts(const PipeRunOptions& options) {
  std::vector<RankHost> ranks;
  for (const std::string& host : options.hosts) ranks.push_back(parseRankHost(host));
  if (ranks.empty() &&
      !(options.remoteShell.empty() && options.prefix.empty() && options.masterAddress.empty())) {
    throw Error("--remote-shell, --prefix and --master-addr are for several hosts; give --hosts");
  }
  const auto named = static_cast<int>(ranks.size());
  if (named > 0 && options.ranks && *options.ranks != named) {
    throw Error(
        fmt::format("--ranks {} contradicts --hosts, which names {}", *options.ranks, named));
  }
  return ranks;
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

LaunchOptions launchOptionsOf(const PipeRunOptions& options) {
  // The ranks inherit it.
  if (!options.sendRecvOverlap) setenv("PIPETRACE_NO_SEND_RECV_OVERLAP", "1", 1);
  LaunchOptions launchOptions;
  launchOptions.masterPort = options.masterPort;
  launchOptions.recording = options.recording;
  launchOptions.reasonDisplay = STDERR_FILENO;
  launchOptions.hosts = hostOptions(options);
  launchOptions.endsDescendants = true;
  return launchOptions;
}

int runLaunch(const PipeRunOptions& options) {
  if (options.isHostAgent) return runHostAgent(PIPETRACE_VERSION);
  if (options.command.empty()) {
    throw Error("no program to run; give it after --: pipe-run --ranks 4 -- ./train --epochs 3");
  }
  LaunchOptions launchOptions = launchOptionsOf(options);
  launchOptions.ranks = options.ranks.value_or(1);
  launchOptions.hosts.ranks = namedHosts(options);
  launchOptions.command = options.command;
  launchOptions.logDirectory = options.logDirectory.empty() ? "logs" : options.logDirectory;
  return launchAgain(options.restarts, [&](int restart) {
    launchOptions.restart = restart;
    return launch(launchOptions);
  });
}

}  // namespace pipetrace
