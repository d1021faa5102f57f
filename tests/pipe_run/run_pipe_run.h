#pragma once

#include <string>
#include <vector>

#include "tests/testing/program_run.h"

namespace pipetrace {

inline ProgramRun pipeRun(std::vector<std::string> arguments, const ProgramSetting& setting = {}) {
  arguments.insert(arguments.begin(), PIPE_RUN_PROGRAM);
  return runProgram(arguments, setting);
}

}  // namespace pipetrace
