#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <string_view>
#include <type_traits>

#include "chart/colors/theme.h"

namespace pipetrace {

/// An option that several commands have. Everywhere it has these names, this kind of value and this
/// help.
struct SharedOption {
  const char* names;  ///< as CLI11 takes them: "-q,--quiet"
  const char* value;  ///< the kind of its value: "A:B"; empty: none
  const char* help;
};

/// The table of shared options. Where a plan is made, --ranks and --steps are numbers; where a run
/// is read, they choose a part of it.
namespace shared {

// A run that is read.
inline constexpr SharedOption kStep{"--step", "N", "Only this step"};
inline constexpr SharedOption kSteps{
    "--steps", "A:B", "Only these steps: A:B for those from A to B - 1, A:, :B, or one"};
inline constexpr SharedOption kRanks{"--ranks", "LIST",
                                     "Only these ranks, as in 0,2,4-7; may be given several times"};
inline constexpr SharedOption kAlign{
    "--align", "none|log|causal",
    "Times in rank 0's clock, by what the logs know of it (log) or by the order of jobs and "
    "messages (causal), or as logged (none). Default: log where the logs know it, causal where "
    "they name several hosts or jobs begin before their inputs, else none"};

// A plan that is made (others: schedule/options/schedule_options.h).
inline constexpr SharedOption kStepCount{"--steps", "N", "Steps to run"};

// Costs of jobs.
inline constexpr SharedOption kCostsFrom{
    "--costs-from", "INPUT", "Times from the logs or a profile of a run: medians of its jobs"};
inline constexpr SharedOption kForwardMs{"--forward-ms", "MS", "A forward"};
inline constexpr SharedOption kBackwardMs{"--backward-ms", "MS", "A whole backward"};
inline constexpr SharedOption kRecomputeMs{
    "--recompute-ms", "MS",
    "A forward that is run again right before its backward; 0: that stage is not recomputed"};
inline constexpr SharedOption kTransferMs{"--transfer-ms", "MS",
                                          "A message between two ranks (default: 0)"};
inline constexpr SharedOption kLrMs{"--lr-ms", "MS", "lr, which opens each step (default: 0)"};
inline constexpr SharedOption kOptimizerMs{"--optimizer-ms", "MS",
                                           "The optimizer, which closes each step (default: 0)"};

// Output.
inline constexpr SharedOption kTheme{"--theme", "paper|paddle|colour-blind",
                                     "Colours of the picture: of the papers (default), of Chrome's "
                                     "viewer for PaddlePaddle, or safe for the colour-blind"};
inline constexpr SharedOption kDark{"--dark", "", "The dark form of the theme"};
inline constexpr SharedOption kWidth{"--width", "C",
                                     "Columns of the chart in characters (default: those of the "
                                     "terminal, else COLUMNS, else 100)"};

}  // namespace shared

/// Whether an option's name ("--stages") is still understood, but no longer documented.
bool isOldSpelling(std::string_view name);

/// Declares an option that sets `to`, a flag where that is a bool. `more` is appended to its help.
template <typename T>
CLI::Option* addShared(CLI::App& app, const SharedOption& option, T& to, const char* more = "") {
  const std::string help = std::string(option.help) + more;
  if constexpr (std::is_same_v<T, bool>) {
    return app.add_flag(option.names, to, help);
  } else {
    return app.add_option(option.names, to, help)->type_name(option.value);
  }
}

/// Declares --theme and --dark, the colours of a picture, which set `theme` and `isDark`. Both need
/// `output`. The references must outlive `app`.
void addThemeOptions(CLI::App& app, CLI::Option* output, ThemeName& theme, bool& isDark);

}  // namespace pipetrace
