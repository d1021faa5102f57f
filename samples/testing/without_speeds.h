#pragma once

#include <regex>
#include <string>

namespace pipetrace::testing {

/// The output of a sample without the speeds of its steps.
inline std::string withoutSpeeds(const std::string& output) {
  return std::regex_replace(output, std::regex(", [0-9]+ \\w+/s"), "");
}

}  // namespace pipetrace::testing
