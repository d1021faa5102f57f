#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "trace/timeline.h"

namespace pipetrace {

/// The part that `time` is in, from 0. `begins`: of the later parts, ascending.
std::size_t partAt(std::span<const Nanoseconds> begins, Nanoseconds time);

/// When each later part of the run begins, on the rank where it begins first
/// (RankInfo::partBegins). Empty for a run that was recorded in one part.
std::vector<Nanoseconds> partBeginsOf(const Timeline& timeline);

}  // namespace pipetrace
