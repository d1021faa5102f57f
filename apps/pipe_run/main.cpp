#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <string>
#include <vector>

#include "apps/pipe_run/launch.h"
#include "apps/pipe_run/options.h"
#include "apps/pipe_run/rehearse.h"

namespace {

constexpr int kCouldNot = 2;

}  // namespace

int main(int argc, char** argv) {
  // A closed pipe and a file that may not grow come back from write() as errors.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);

  pipetrace::PipeRunOptions options;
  std::vector<std::string> arguments(argv + 1, argv + argc);
  const bool hasDashes = std::find(arguments.begin(), arguments.end(), "--") != arguments.end();
  const std::string meant = hasDashes ? "" : pipetrace::withDashes(arguments);
  if (!meant.empty()) {
    std::fputs(("pipe-run: the program comes after --: " + meant + "\n").c_str(), stderr);
    return kCouldNot;
  }
  options.command = pipetrace::takeCommand(arguments);
  CLI::App app("", "pipe-run");
  pipetrace::addPipeRunOptions(app, options);
  try {
    std::reverse(arguments.begin(), arguments.end());  // CLI11 takes them from the end
    app.parse(arguments);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kCouldNot;
  }
  try {
    return options.isRehearsal ? pipetrace::runRehearse(options.rehearsal)
                               : pipetrace::runLaunch(options);
  } catch (const std::exception& error) {
    std::fputs(("pipe-run: " + std::string(error.what()) + "\n").c_str(), stderr);
    return kCouldNot;
  }
}
