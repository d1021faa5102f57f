#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <string>
#include <vector>

#include "apps/pipe_trace_options.h"
#include "apps/pipe_trace_run.h"
#include "trace/unfinished_files.h"

namespace {

constexpr int kCouldNot = 2;

/// Prints what is wrong with the command line, or what --help and --version ask for. An unknown
/// option goes before a missing INPUT, as it may be the reason.
int exitOf(const CLI::App& app, const CLI::ParseError& error) {
  const std::vector<std::string> unknown = app.remaining();
  if (!unknown.empty() && error.get_name() == "RequiredError") {
    return exitOf(app, CLI::ExtrasError(unknown));
  }
  return app.exit(error) == 0 ? 0 : kCouldNot;
}

}  // namespace

int main(int argc, char** argv) {
  // A closed pipe and a file that may not grow come back from write() as errors.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  pipetrace::removeUnfinishedFilesOnSignals();

  pipetrace::PipeTraceOptions options;
  CLI::App app("", "pipe-trace");
  pipetrace::addPipeTraceOptions(app, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return exitOf(app, error);
  }
  try {
    return pipetrace::runPipeTrace(options);
  } catch (const std::exception& error) {
    std::fputs(("pipe-trace: " + std::string(error.what()) + "\n").c_str(), stderr);
    return kCouldNot;
  }
}
