#include "apps/pipe_run/commands.h"

int main(int argc, char** argv) { return pipetrace::runProgram(pipetrace::pipeRun(), argc, argv); }
