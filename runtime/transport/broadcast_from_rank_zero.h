#pragma once

#include <functional>
#include <string>

#include "runtime/starting_ranks/process_env.h"

namespace pipetrace {

struct RunStore;

/// A text that rank 0 makes, before the ranks of a run come together. All call it; the others wait
/// in the run's store, as long as it takes. An exception of `make` is an Error of all ranks, and so
/// is the end of rank 0's process. `key` is its place in the store, one for each call.
std::string broadcastFromRankZero(const ProcessEnv& env, RunStore& store, const std::string& key,
                                  const std::function<std::string()>& make);

}  // namespace pipetrace
