#pragma once

#include <string>
#include <utility>
#include <vector>

#include "runtime/control/key_value.h"
#include "trace/nanoseconds.h"

namespace pipetrace {

/// Names and values that are the same on all ranks of a run: {"seed", "7"}. They have no line
/// breaks, and the names have the same order everywhere.
using RunFacts = std::vector<std::pair<std::string, std::string>>;

/// Compares the facts of all ranks, which must all call it, and waits for them. Throws Error on all
/// ranks if one differs, with the ranks that do: those whose value fewer ranks have, or not rank 0.
void requireSameRun(KeyValue& store, int rank, int worldSize, const RunFacts& facts,
                    Nanoseconds timeout);

}  // namespace pipetrace
