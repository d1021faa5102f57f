#pragma once

#include <string>
#include <vector>

namespace pipetrace {

/// The inputs that one word names: a file or folder of that name, else the names that match it as a
/// shell's pattern with *, ? and [], in their order. Throws Error for a pattern that nothing
/// matches.
std::vector<std::string> inputsOf(const std::string& word);

}  // namespace pipetrace
