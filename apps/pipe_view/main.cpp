#include "apps/pipe_view/commands.h"
#include "trace/files/unfinished_files.h"

int main(int argc, char** argv) {
  pipetrace::removeUnfinishedFilesOnSignals();
  return pipetrace::runProgram(pipetrace::pipeView(), argc, argv);
}
