#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "analysis/diff/measured_run.h"

namespace pipetrace {

/// How two runs are compared, which is as finely as both allow.
struct Comparison {
  /// A place that both runs have.
  enum class Places : std::uint8_t {
    kStages,     ///< a stage
    kPositions,  ///< a rank's position in its pipeline: they have other numbers of chunks
    kNone,       ///< pipelines have other numbers of ranks: jobs differ by kind alone
  };

  Places places = Places::kStages;
  bool hasSameRanks = true;      ///< ranks and links are the same, too
  bool isPerMicroBatch = false;  ///< all times are those of a micro-batch, else of a step
  bool hasSameTokens = false;    ///< both runs say that a step has as many tokens
  /// The kind that a job is compared as. Where one run has halves of backwards and the other whole
  /// ones, both are kBackward; where only one has fused pairs, all are kOther.
  std::array<JobKind, kJobKindCount> kindAs{};
  /// Why the steps cannot be compared; empty: they can. A sentence without a full stop.
  std::string refusal;
  /// They say what the comparison rests on. Sentences without a full stop.
  std::vector<std::string> notes;

  JobKind as(JobKind kind) const { return kindAs[static_cast<std::size_t>(kind)]; }
};

Comparison comparisonOf(const MeasuredRun& a, const MeasuredRun& b);

/// The ranks that both runs have, where logs of others are missing in one: the runs are arranged
/// alike, so all else is compared without them. Empty: there is nothing to leave out, or the ranks
/// differ because the runs do.
std::vector<int> ranksOfBoth(const ComparedShape& a, const ComparedShape& b);

}  // namespace pipetrace
