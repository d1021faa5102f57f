#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

#include "analysis/run/clocks/alignment.h"
#include "analysis/run/steps/interval.h"

namespace pipetrace {

// Options that choose a part of a run. The arguments that are references must outlive `app`.

/// Declares --step, which gives `take` its number. `more` is appended to its help.
CLI::Option* addStepOption(CLI::App& app, std::function<void(int)> take, const char* more);

/// Declares --steps, which gives `take` its half-open range.
CLI::Option* addStepsOption(CLI::App& app, std::function<void(const NumberRange&)> take);

/// Declares --ranks, which sets `ranks`.
CLI::Option* addRanksOption(CLI::App& app, std::vector<NumberRange>& ranks);

/// Declares --align, which sets `align`.
CLI::Option* addAlignOption(CLI::App& app, AlignBy& align);

/// The ranges of the texts between the commas of 0,2,4-7. Throws CLI::ValidationError for any other
/// text, which names the option.
std::vector<NumberRange> rangesFrom(const std::vector<std::string>& list, const char* option);

}  // namespace pipetrace
