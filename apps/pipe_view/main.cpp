#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <string>

#include "apps/pipe_view/options.h"
#include "trace/files/unfinished_files.h"
#include "viewer/run_viewer.h"

namespace {

constexpr int kCouldNot = 2;

}  // namespace

int main(int argc, char** argv) {
  // A closed pipe and a file that may not grow come back from write() as errors.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  pipetrace::removeUnfinishedFilesOnSignals();

  pipetrace::ViewerOptions options;
  CLI::App app("", "pipe-view");
  pipetrace::addPipeViewOptions(app, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kCouldNot;
  }
  try {
    return pipetrace::runViewer(options, argv[0]);
  } catch (const std::exception& error) {
    std::fputs(("pipe-view: " + std::string(error.what()) + "\n").c_str(), stderr);
    return kCouldNot;
  }
}
