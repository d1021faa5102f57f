#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <string>

#include "apps/cli/command_line.h"
#include "apps/pipe_trace/commands.h"
#include "apps/pipe_trace/options.h"
#include "apps/pipe_trace/run.h"
#include "trace/files/unfinished_files.h"

namespace {

int readInputs(int argc, char** argv) {
  pipetrace::PipeTraceOptions options;
  CLI::App app("", "pipe-trace");
  pipetrace::addPipeTraceOptions(app, options);
  if (const auto code = pipetrace::parseCommandLine(app, argc, argv)) return *code;
  return pipetrace::runPipeTrace(options);
}

}  // namespace

int main(int argc, char** argv) {
  // A closed pipe and a file that may not grow come back from write() as errors.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  pipetrace::removeUnfinishedFilesOnSignals();

  std::string name = "pipe-trace";
  try {
    if (argc < 2) return readInputs(argc, argv);
    const pipetrace::PipeTraceCommand* const command = pipetrace::findCommand(argv[1]);
    if (command == nullptr) return readInputs(argc, argv);
    name += " " + std::string(command->name);
    return command->run(argc - 1, argv + 1);
  } catch (const std::exception& error) {
    std::fputs((name + ": " + error.what() + "\n").c_str(), stderr);
    return pipetrace::kExitCouldNot;
  }
}
