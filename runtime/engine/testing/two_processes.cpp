#include "runtime/engine/testing/two_processes.h"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>

#include "runtime/starting_ranks/local_port.h"

namespace pipetrace::testing {

void endWithTwoProcesses(const std::function<int(int rank, int port, pid_t first)>& body) {
  const LocalPort port;
  std::array<pid_t, 2> pids{};
  for (const int rank : {0, 1}) {
    pid_t& pid = pids[static_cast<std::size_t>(rank)];
    pid = fork();
    if (pid == 0) std::_Exit(body(rank, port.number(), pids[0]));
  }
  for (const pid_t pid : pids) {
    int status = 0;
    waitpid(pid, &status, 0);
    std::fprintf(stderr, "exit code %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
  }
  std::_Exit(0);
}

}  // namespace pipetrace::testing
