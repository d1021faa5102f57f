#pragma once

#include <string>
#include <vector>

#include "runtime/starting_ranks/child_process.h"
#include "trace/sockets/owned_fd.h"

namespace pipetrace {

/// A child process with its standard output and error in one pipe, and /dev/null as its input.
class RankProcess : private Pipe, public ChildProcess {
 public:
  /// Starts it. `environment` holds "NAME=value" texts; `signals` is the mask it starts with.
  /// Throws Error if the program cannot be run.
  RankProcess(const std::vector<std::string>& command, const std::vector<std::string>& environment,
              const sigset_t& signals);

  /// The pipe to read its output from, non-blocking; -1 after closeOutput().
  int output() const { return read.get(); }
  void closeOutput() { read.reset(); }
};

}  // namespace pipetrace
