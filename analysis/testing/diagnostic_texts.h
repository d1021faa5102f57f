#pragma once

#include <string>
#include <vector>

#include "trace/diagnostic.h"

namespace pipetrace {

/// What tests compare: every diagnostic as it is told.
inline std::vector<std::string> textsOf(const Diagnostics& diagnostics) {
  std::vector<std::string> texts;
  for (const Diagnostic& each : diagnostics.list()) texts.push_back(toText(each));
  return texts;
}

}  // namespace pipetrace
