#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace pipetrace::bench {

/// The least that a converter of job logs can do: the measure for other converters. It finds job
/// lines, reads their numbers, and writes a begin and an end event for each job but lr. It checks
/// nothing, keeps nothing, and needs well-formed lines. Each thread takes one file after the other.
/// Returns the number of jobs.
std::int64_t convertBarely(const std::vector<std::string>& logs, const std::string& output,
                           int threads);

}  // namespace pipetrace::bench
