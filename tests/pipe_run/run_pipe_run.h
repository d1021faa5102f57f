#pragma once

#include <string>
#include <vector>

#include "tests/testing/program_run.h"
#include "trace/testing/folders.h"

namespace pipetrace {

inline ProgramRun pipeRun(std::vector<std::string> arguments, const ProgramSetting& setting = {}) {
  arguments.insert(arguments.begin(), test::inBuild("bin/pipe-run"));
  return runProgram(arguments, setting);
}

}  // namespace pipetrace
