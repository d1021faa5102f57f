#pragma once

#include <string>
#include <utility>
#include <vector>

#include "runtime/control/key_value.h"
#include "trace/nanoseconds.h"

namespace pipetrace {

/// What all ranks of a run must have in common, as names and values: {"seed", "7"}. Both without
/// line breaks, the names in the same order everywhere.
using RunFacts = std::vector<std::pair<std::string, std::string>>;

/// Compares the facts of all ranks, which must all call it, and waits for them. Throws Error on all
/// ranks if one differs, with the ranks that do: those whose value fewer ranks have, or not rank 0.
void requireSameRun(KeyValue& store, int rank, int worldSize, const RunFacts& facts,
                    Nanoseconds timeout);

}  // namespace pipetrace
