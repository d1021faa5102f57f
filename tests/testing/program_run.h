#pragma once

#include <functional>
#include <string>
#include <vector>

namespace pipetrace {

/// How a program that a test ran ended, and what it printed.
struct ProgramRun {
  int exitCode = -1;  ///< -1: ended by `signal`
  int signal = 0;
  std::string out;
  std::string err;
};

/// How to run it.
struct ProgramSetting {
  std::string input;              ///< what it finds on standard input
  std::string outFile;            ///< standard output goes there instead of into ProgramRun::out
  std::function<void()> inChild;  ///< called between fork and exec; only what is safe there
  std::function<void(int)> meanwhile;  ///< called with its process id as soon as it runs
};

/// Runs `arguments` (the program's path first), without a shell, and waits for its end.
ProgramRun runProgram(const std::vector<std::string>& arguments, const ProgramSetting& = {});

}  // namespace pipetrace
