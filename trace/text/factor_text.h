#pragma once

#include <string>

#include "trace/text/fixed_text.h"

namespace pipetrace {

/// A factor for people to read, with two decimals: "1.30".
inline std::string factorText(double factor) { return fixedText(factor, 2); }

}  // namespace pipetrace
