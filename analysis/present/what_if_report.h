#pragma once

#include <string>
#include <vector>

#include "analysis/what_if/what_if.h"

namespace pipetrace {

/// An answer to report.
struct WhatIfReport {
  const WhatIfAnswer& answer;
  std::vector<std::string> asked = {};  ///< the options that ask for changes, as they were typed
};

/// The report as text. Ends with a newline.
std::string whatIfText(const WhatIfReport& report);

/// Both errors of an answer, a line each.
std::string whatIfErrorsText(const WhatIfAnswer& answer);

/// The report as one JSON object (docs/what-if.md). Times are in ns. Ends with a newline.
std::string whatIfJson(const WhatIfReport& report);

}  // namespace pipetrace
