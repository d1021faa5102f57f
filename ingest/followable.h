#pragma once

#include <string>
#include <vector>

namespace pipetrace {

class TraceReaders;

/// Throws Error, with advice, unless each input may grow: a folder, a job log, or a file that is
/// none yet. Standard input, compressed files, and what is certainly another format cannot.
void checkFollowable(const std::vector<std::string>& inputs, const TraceReaders& readers);

}  // namespace pipetrace
