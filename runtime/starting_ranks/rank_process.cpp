#include "runtime/starting_ranks/rank_process.h"

#include <fcntl.h>

namespace pipetrace {

RankProcess::RankProcess(const std::vector<std::string>& command,
                         const std::vector<std::string>& environment, const sigset_t& signals)
    : ChildProcess({.command = command,
                    .environment = environment,
                    .signals = signals,
                    .standard = {-1, write.get(), write.get()}}) {
  write.reset();
  fcntl(output(), F_SETFL, O_NONBLOCK);
}

}  // namespace pipetrace
