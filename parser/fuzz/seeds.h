#pragma once

#include <map>
#include <string>
#include <vector>

namespace pipetrace::fuzz {

/// Small inputs of every kind that a reader knows: a fuzzer begins with them, and the unit tests
/// replay them. Maps each target to its inputs. Writes and removes files in `scratch`, a folder.
std::map<std::string, std::vector<std::string>> makeSeeds(const std::string& scratch);

}  // namespace pipetrace::fuzz
