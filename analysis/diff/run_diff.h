#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/diff/block_bootstrap.h"
#include "analysis/diff/comparison.h"
#include "analysis/diff/measured_run.h"

namespace pipetrace {

/// A time of both runs, of a step or of a micro-batch (Comparison::isPerMicroBatch), in the mean
/// over ranks and steps.
struct DiffFigure {
  Nanoseconds a = 0;
  Nanoseconds b = 0;
  std::optional<ConfidenceInterval> sure;  ///< of the difference, in ns; empty: not known

  Nanoseconds difference() const { return b - a; }
};

/// A part of the step: busy time of a place and kind, or idle time of a class and whoever is to
/// blame for it.
struct DiffPart : DiffFigure {
  bool isBusy = false;
  JobKind kind = JobKind::kOther;                ///< of busy time, as Comparison::as() says
  BubbleClass bubbleClass = BubbleClass::kNone;  ///< of idle time
  int stage = -1;     ///< of busy time and imbalance, under Places::kStages
  int position = -1;  ///< the same under Places::kPositions
  int rank = -1;      ///< to blame; of a link the lower one
  int peer = -1;      ///< of a link: the other one
};

/// The lengths of jobs of one place and kind.
struct JobChange {
  JobKind kind = JobKind::kOther;
  int stage = -1;  ///< as of DiffPart
  int position = -1;
  std::vector<int> ranks;  ///< that run them in B
  /// Mean length, ns; where kinds are joined or places are no stages, that of a micro-batch's jobs
  /// on a rank.
  double a = 0;
  double b = 0;
  std::optional<ConfidenceInterval>
      sure;  ///< of b − a; empty: not known, or less than kLeastChange
  /// At least kLeastChange, and beyond the noise of all that is compared. Where a run has one step
  /// only, nobody knows the noise.
  bool isClear = false;
  int rank = -1;           ///< one rank of several has the change alone; -1: not so
  int microBatch = -1;     ///< one micro-batch of several has it alone; -1: not so
  double factorAlone = 0;  ///< of that rank, else of that micro-batch

  double factor() const { return a > 0 ? b / a : 0; }
};

/// The messages between two ranks.
struct LinkChange {
  MeasuredRun::Link link;
  double a = 0;  ///< mean time on the way, ns
  double b = 0;
  std::optional<ConfidenceInterval> sure;  ///< as of JobChange
  bool isClear = false;                    ///< as of JobChange
};

/// Two runs, compared.
struct RunDiff {
  /// Changes of less than this share are not named.
  static constexpr double kLeastChange = 0.01;

  MeasuredRun a;
  MeasuredRun b;
  Comparison how;
  double tolerance = 0;
  bool isPaired = false;  ///< steps are compared in pairs, as those at the same places are alike
  std::vector<int> onlyRanks;  ///< ranks that were compared, where others lack a log in one run

  // Empty or 0 where how.refusal says that steps cannot be compared.
  DiffFigure step;
  /// The whole step, where `step` is that of a micro-batch: its wall time, where that is known.
  /// Empty: an asynchronous run has none.
  std::optional<DiffFigure> wholeStep;
  /// From the end of a step's window to the next step; empty: a run does not show it.
  std::optional<DiffFigure> between;
  std::optional<DiffFigure> loads;  ///< the part of it in which data are loaded
  /// From a step's begin to the next one's: `step` and `between` together, to the nanosecond.
  std::optional<DiffFigure> wall;
  /// In the order of busy time, then classes. Their times of each run, and so their differences,
  /// add up to those of `step` to the nanosecond (exactMeans()).
  std::vector<DiffPart> parts;

  std::vector<JobChange> jobs;  ///< by place, then kind
  std::vector<LinkChange> links;

  /// Whether both runs have several steps; else nothing is beyond noise, as nobody knows it.
  bool isNoiseKnown() const { return a.steps.size() > 1 && b.steps.size() > 1; }
  /// The figure that is compared: the wall time where both runs show it, else `step`.
  const DiffFigure& unit() const { return wall ? *wall : step; }
  /// The figure that says whether B is slower: unit(), but the whole step where that is known to
  /// have as many tokens in both runs.
  const DiffFigure& judged() const;
  /// The share that a figure of B is longer than that of A, where it is beyond noise; else 0.
  static double sureChange(const DiffFigure& figure);
  /// Whether judged() of B is longer, beyond noise and tolerance.
  bool isSlower() const;
};

/// Choices of diffOf().
struct DiffOptions {
  std::vector<NumberRange> steps;  ///< of both runs; as in ExplainOptions
  bool sameBatch = false;          ///< steps of both have as many samples
  double tolerance = 0.02;         ///< a share of A's step that B may be slower
};

/// Leaves out the ranks of which the other run lacks the log (ranksOfBoth()). Returns those that
/// are left; empty: all of them.
std::vector<int> leaveRanksOfBoth(Run& a, Run& b);

/// Compares two runs, on as many threads as the first has. Throws Error where one has no compute
/// job.
RunDiff diffOf(Run a, Run b, const DiffOptions& options);

/// The same of runs that were measured before.
RunDiff diffOf(MeasuredRun a, MeasuredRun b, double tolerance);

}  // namespace pipetrace
