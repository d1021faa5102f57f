#pragma once

#include <string>
#include <vector>

#include "trace/diagnostic.h"

namespace pipetrace {

/// The text of every diagnostic, for tests to compare.
inline std::vector<std::string> textsOf(const Diagnostics& diagnostics) {
  std::vector<std::string> texts;
  for (const Diagnostic& each : diagnostics.list()) texts.push_back(toText(each));
  return texts;
}

}  // namespace pipetrace
