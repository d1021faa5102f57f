#pragma once

#include <vector>

#include "schedule/check/check.h"
#include "schedule/file/schedule_reader.h"

namespace pipetrace {

/// check() of a file as far as it could be read: first the cells that could not be read, then the
/// faults of the rest.
std::vector<Problem> check(const ReadablePlan& file, const CheckOptions& options = {});

}  // namespace pipetrace
