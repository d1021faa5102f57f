#pragma once

#include <string>

namespace pipetrace {

/// The agent of a run on another host: pipe-run --host-agent. pipe-run starts it through a remote
/// shell. It gets orders on its standard input, and says on its standard output what its ranks do.
///
/// The ranks write their logs into a folder of its own for temporary files. The agent sends what is
/// new there, but its ranks never wait for that. Once all has been stored at home, it removes the
/// folder.
///
/// When its input ends, or nothing has come from there for kHostSilence, it ends its ranks and all
/// that they have started: SIGTERM, and SIGKILL 5 s later. If it dies itself, the kernel kills the
/// ranks.
///
/// Returns the exit code. Call it on the main thread of a program that does nothing else; it sets
/// variables of the environment. `version`: of this program.
int runHostAgent(const std::string& version);

}  // namespace pipetrace
