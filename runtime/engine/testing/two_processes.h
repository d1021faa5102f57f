#pragma once

#include <sys/types.h>

#include <functional>

namespace pipetrace::testing {

/// For a death test of style "threadsafe". Runs `body` in two processes, which are ranks of one
/// run, and waits for both. `port`: for their store. `first`: the process of rank 0, where it is
/// not the own one. Prints "exit code 0" for each on stderr, and ends the process with code 0.
[[noreturn]] void endWithTwoProcesses(
    const std::function<int(int rank, int port, pid_t first)>& body);

}  // namespace pipetrace::testing
