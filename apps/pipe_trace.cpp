#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <string>

#include "apps/pipe_trace_options.h"
#include "apps/pipe_trace_run.h"
#include "trace/unfinished_files.h"

namespace {

constexpr int kCouldNot = 2;

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
    return app.exit(error) == 0 ? 0 : kCouldNot;
  }
  try {
    return pipetrace::runPipeTrace(options);
  } catch (const std::exception& error) {
    std::fputs(("pipe-trace: " + std::string(error.what()) + "\n").c_str(), stderr);
    return kCouldNot;
  }
}
