#pragma once

#include <string>

#include "analysis/run/doubts.h"

namespace pipetrace {

// The words of doubts, made of their facts alone. All are sentences without a full stop.

/// Says what cannot be, and what follows from it for the report.
std::string doubtText(const Doubt& doubt);

/// Says what to do; may be empty.
std::string doubtAdvice(const Doubt& doubt);

/// Both in one line: "doubt: TEXT; ADVICE".
std::string doubtLine(const Doubt& doubt);

/// Why a report has no figures, of doubts of which some make them meaningless.
std::string noFiguresText(const std::vector<Doubt>& doubts);

/// The doubts as a JSON array, empty if all is well: what docs/report.schema.json says of `trust`.
std::string doubtsJson(const std::vector<Doubt>& doubts);

/// The effect of a kind of doubts, as JSON names it: "causes_withheld".
const char* effectName(DoubtEffect effect);

}  // namespace pipetrace
