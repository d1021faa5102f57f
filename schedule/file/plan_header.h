#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "schedule/plan.h"

namespace pipetrace {

/// What a comment of a schedule file says of the plan, where its cells cannot:
/// "# name = PipeDream, update_every = 1, double_buffered = 1". Keys: name, ranks and
/// micro_batches (how many the plan should have: what is missing at its end shows), update_every,
/// double_buffered (0 or 1), rank_of_stage and rank_of_stage_reversed (ranks with blanks between
/// them), first_reversed. A value that holds ", " or begins with '"' stands in double quotes, with
/// \" and \\ in it.
struct PlanHeader {
  std::optional<std::string> name;
  std::optional<int> ranks;
  std::optional<int> microBatches;
  std::optional<int> updateEvery;
  std::optional<bool> doubleBuffered;
  std::optional<std::vector<int>> rankOfStage;
  std::optional<std::vector<int>> rankOfStageReversed;
  std::optional<int> firstReversed;

  /// Adds what a comment (without its '#') says. Nothing of it if its first field is none of the
  /// keys: an ordinary comment. Returns what is wrong; empty: nothing.
  std::string read(std::string_view comment);

  /// Sets what is given. Returns what is wrong; empty: nothing.
  std::string applyTo(Plan& plan) const;
};

/// The header line that `plan` needs for its cells to read back as it is, with its name and
/// newline; empty: none.
std::string headerFor(const Plan& plan);

}  // namespace pipetrace
