#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace pipetrace::bench {

/// The least that a converter of job logs can do, as what others are measured against: finds job
/// lines, reads their numbers, writes a begin and an end event of each, those of lr left out. It
/// checks nothing, keeps nothing, and takes only lines that are well formed. Each thread takes one
/// file after the other. Returns how many jobs were written.
std::int64_t convertBarely(const std::vector<std::string>& logs, const std::string& output,
                           int threads);

}  // namespace pipetrace::bench
