#pragma once

#include <map>
#include <string>
#include <vector>

namespace pipetrace::fuzz {

/// Small inputs of every kind that a reader knows, for its fuzzer to begin with and for the unit
/// tests to replay: target -> inputs. Writes and removes files in `scratch`, a folder.
std::map<std::string, std::vector<std::string>> makeSeeds(const std::string& scratch);

}  // namespace pipetrace::fuzz
