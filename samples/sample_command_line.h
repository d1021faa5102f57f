#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <type_traits>

#include "samples/sample_options.h"

namespace pipetrace {

/// Refuses what is no number from `least` to `most`: "3.5 is no whole number". In the help as
/// CLI::Range.
template <typename Number>
CLI::Validator numberFrom(Number least, Number most) {
  const CLI::Range range(least, most);
  CLI::Validator check = range;
  return CLI::Validator(
      [range](std::string& text) {
        Number value{};
        const bool isNumber = CLI::detail::lexical_cast(text, value);
        if (isNumber) return range(text);
        return text + (std::is_integral_v<Number> ? " is no whole number" : " is no number");
      },
      check.get_description());
}

/// Adds the options that all samples have; their defaults are what `options` holds. The transport
/// is Gloo when the environment says that a launcher started the program (WORLD_SIZE is set).
void addPipelineOptions(CLI::App& app, SampleOptions& options);

/// Adds --peak-flops, for samples that know their operations.
void addPeakFlops(CLI::App& app, SampleOptions& options);

/// Adds the options of a task's optimizer; their defaults are what `options` holds.
void addOptimizerOptions(CLI::App& app, OptimizerOptions& options);

}  // namespace pipetrace
