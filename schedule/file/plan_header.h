#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "schedule/plan.h"

namespace pipetrace {

/// The part of a plan that the cells of a schedule file cannot hold, from a comment such as `# name
/// = PipeDream, update_every = 1, double_buffered = 1`. The keys ranks and micro_batches are the
/// numbers that the plan should have, so that work missing at its end shows. The other keys are
/// name, update_every, double_buffered (0 or 1), credits (Plan::credits), ranks_of_stage
/// (toText(Placement::ranksOfStage)), run and replicas.
///
/// update_every is a number, or one for each stage with commas between them. It is 0 where weights
/// change once, after all micro-batches.
///
/// Older files have rank_of_stage and rank_of_stage_reversed (ranks with blanks between them), and
/// first_reversed: from that micro-batch on the stages run where the second list says. A value that
/// holds
/// ", " or begins with '"' stands in double quotes, with \" and \\ in it.
struct PlanHeader {
  std::optional<std::string> name;
  std::optional<int> ranks;
  std::optional<int> microBatches;
  std::optional<std::vector<int>> updateEvery;
  std::optional<bool> doubleBuffered;
  std::optional<int> credits;
  std::optional<std::vector<std::vector<int>>> ranksOfStage;
  std::optional<int> run;
  std::optional<int> replicas;
  std::optional<std::vector<int>> rankOfStage;
  std::optional<std::vector<int>> rankOfStageReversed;
  std::optional<int> firstReversed;

  /// Adds the fields of a comment (without its '#'). A comment whose first field is none of the
  /// keys is an ordinary one and adds nothing. Returns a description of what is wrong; empty:
  /// nothing.
  std::string read(std::string_view comment);

  /// Sets the fields that are given. Returns a description of what is wrong; empty: nothing.
  /// Sets `hasWrongRanks` where that is the ranks of stages.
  std::string applyTo(Plan& plan, bool& hasWrongRanks) const;

 private:
  std::string place(Plan& plan) const;
};

/// The header line that `plan` needs for its cells to read back as it is, with its name and
/// newline; empty: none.
std::string headerFor(const Plan& plan);

/// Without blanks, tabs and carriage returns at its ends.
std::string_view trimmed(std::string_view text);

}  // namespace pipetrace
