#pragma once

#include <array>
#include <atomic>
#include <cmath>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "analysis/run/run.h"
#include "analysis/run/steps/interval.h"
#include "analysis/what_if/run_blocks.h"
#include "analysis/what_if/run_changes.h"
#include "analysis/what_if/run_model.h"
#include "trace/bubble_class.h"

namespace pipetrace {

/// How far whatIf() is; other threads may look at it meanwhile.
struct WhatIfProgress {
  static constexpr int kParts = 7;
  std::atomic<int> done{0};  ///< of kParts
};

/// A question about a run.
struct WhatIfQuestion {
  RunChanges run;
  PlanChanges plan;
  std::optional<GivenBlocks> blocks;  ///< of the model; none: stages are cut evenly
  std::vector<NumberRange> steps;     ///< those that figures are about; empty: as CountedSteps says
  std::optional<double> tokensPerStep;
  WhatIfProgress* progress = nullptr;  ///< may be null
  std::stop_token stop;                ///< whatIf() throws Error soon after a stop is requested
};

/// The figures of a run, or of a simulated one. Times are in ns a step, means over the steps that
/// count and over pipelines, but for the length.
struct WhatIfFigures {
  struct Rank {
    int position = 0;  ///< in its pipeline
    std::vector<std::int32_t> stages;
    double work = 0;  ///< compute jobs in the window
    std::array<double, kBubbleClassCount> bubbles{};
  };

  Nanoseconds step = 0;  ///< MedianStep::window
  double meanStep = 0;   ///< MeanStep::window
  /// MedianStep::wall; of a simulated run, with the mean pause of the run. Empty: not known.
  std::optional<Nanoseconds> wall;
  std::optional<double> meanWall;  ///< MeanStep::wall, likewise
  double bubbleRatio = 0;
  /// Tokens, or steps of as many samples as the run's where nobody knows those; of all pipelines,
  /// with the pauses between steps.
  double perSecond = 0;
  std::vector<Rank> ranks;  ///< by position

  double ofClass(BubbleClass bubbleClass) const;
  double work() const;
};

/// The figures of a run in the steps that count. `pause`: the mean time between steps, where the
/// run itself does not show it. `perStep`: what figures.perSecond counts of a step. `withClasses`:
/// without, Rank::bubbles stay 0, and idle time need not be classified.
WhatIfFigures whatIfFigures(const Run& run, const CountedSteps& counted,
                            std::optional<double> pause, double perStep, bool withClasses = true);

/// The mean time between the steps that count, in ns; 0 where none is followed by another.
double meanPauseOf(const RunSummary& summary, const CountedSteps& counted);

/// Why simulations are no ground for an answer about another plan, a sentence without a full stop;
/// empty: they are. Of WhatIfAnswer::modelError and noModel.
std::string whyNoOtherPlan(const std::optional<double>& modelError, const std::string& noModel);

/// How a run would be with changes, and how far that can be trusted.
struct WhatIfAnswer {
  /// Whether the changed run is that of a simulation (RunModel), not the run itself again
  /// (RunAgain). It is where another plan of the jobs, or another order of messages, is asked for.
  bool isByModel = false;
  bool isInTokens = false;  ///< WhatIfFigures::perSecond
  bool isWholeRun = false;  ///< MedianStep::isWholeRun
  bool isOfWall = false;    ///< MedianStep::hasPauses()
  std::string schedule;     ///< that the run followed, as people say it
  WhatIfFigures measured;
  WhatIfFigures unchanged;  ///< the run again, or its simulation, as it was
  WhatIfFigures changed;
  /// Of other jobs, where the run does not show whether messages wait for each other, and `changed`
  /// takes them to wait for none: with those of a rank one after the other, as
  /// torch.distributed.pipelining posts them. Without classes. None: not asked, or it deadlocks.
  std::optional<WhatIfFigures> changedInLine;
  /// The most by which an event of the run again differs from the run: 0.
  Nanoseconds replayError = 0;
  /// The simulated step of the run as it was over the measured one − 1; none: there is no model.
  std::optional<double> modelError;
  std::string noModel;  ///< then: why, a sentence without a full stop
  /// Why there is no answer, a sentence without a full stop; empty: there is.
  std::string refusal;
  std::vector<std::string> assumptions;  ///< sentences without a full stop
  /// RunModel::SimulatedRun::peaks of both; empty without a model.
  std::vector<double> peaks;
  std::vector<double> changedPeaks;
  std::string changedPlan;  ///< its name, where it is another one
  Plan order;  ///< RunModel::SimulatedRun::order of the changed run; empty where the order stays
  Run run;     ///< the changed one; empty with a refusal

  /// changed / unchanged − 1 of the wall time if isOfWall, else of the step.
  double change() const { return changeTo(changed); }
  double changeTo(const WhatIfFigures& figures) const;
  /// Of the measured run, what change() is about.
  Nanoseconds paid() const {
    return isOfWall ? measured.wall.value_or(measured.step) : measured.step;
  }
  /// The time that was measured, changed as much as the simulated one, or as the run again.
  Nanoseconds predictedWith(double change) const {
    return std::llround(static_cast<double>(paid()) * (1 + change));
  }
  /// Whether changedInLine differs from the change by a hundredth of the step or more.
  bool dependsOnOrder() const {
    return changedInLine.has_value() && std::abs(changeTo(*changedInLine) - change()) >= 0.01;
  }

  /// From this model error on no answer about another plan is given.
  static constexpr double kMostError = 0.1;
};

/// Answers a question about a run. Throws Error, which begins with the option, for a change that
/// the run cannot have.
WhatIfAnswer whatIf(const Run& run, const WhatIfQuestion& question);

}  // namespace pipetrace
