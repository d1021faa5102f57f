#pragma once

#include <span>

#include "runtime/control/verdict/verdict.h"
#include "trace/nanoseconds.h"

namespace pipetrace {

/// One rank's word that something ended the run.
struct Observation {
  int observer = -1;
  Nanoseconds noticed = 0;  ///< when, on any clock that all observations share
  FailureCause cause;
};

/// The cause that came first, from what all ranks noticed. A stop counts only if nothing else was
/// noticed, and silence only if no rank died. Hang-ups that follow from it reach some
/// ranks sooner than itself, so it returns the rank that most observers noticed first; then the one
/// noticed longest ago; then the lowest. Does not depend on the order of `all`, which has at least
/// one observation.
FailureCause firstCause(std::span<const Observation> all);

}  // namespace pipetrace
