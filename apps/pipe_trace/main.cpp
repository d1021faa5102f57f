#include "apps/pipe_trace/commands.h"
#include "trace/files/unfinished_files.h"

int main(int argc, char** argv) {
  pipetrace::removeUnfinishedFilesOnSignals();
  return pipetrace::runProgram(pipetrace::pipeTrace(), argc, argv);
}
