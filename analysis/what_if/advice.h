#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/run/run.h"
#include "analysis/run/steps/interval.h"
#include "analysis/what_if/framework_options.h"
#include "analysis/what_if/run_blocks.h"

namespace pipetrace {

/// How far adviceOn() is; other threads may look at it meanwhile.
struct AdviceProgress {
  std::atomic<std::int64_t> tried{0};
  std::atomic<std::int64_t> inAll{0};  ///< changes; 0: not known yet
  /// Set by who has no use for it any more: adviceOn() throws Error after the change it is at.
  std::atomic<bool> isCancelled{false};

  /// Counts a change that is tried next. Throws Error if it is cancelled.
  void next();
};

/// The question to adviceOn().
struct AdviceQuestion {
  std::vector<NumberRange> steps;  ///< those that figures are about; empty: as CountedSteps says
  /// The most activations that a rank may hold, in whole shares: what a micro-batch takes on all
  /// stages of a rank together. None: as many as the rank of the run that holds most.
  std::optional<double> activationLimit;
  /// The same in bytes; without activationLimit. `activationBytes` is what an activation takes.
  /// None: by the table of blocks.
  std::optional<double> limitBytes;
  std::optional<double> activationBytes;
  /// About how many jobs the simulations of other plans may have together; those with the fewest
  /// come first, and a note counts the others. 0: any number.
  std::int64_t mostJobs = 0;
  AdviceProgress* progress = nullptr;  ///< may be null
  std::string logs = "LOGS";           ///< the inputs, as a shell reads them, for commands
  /// The blocks of the model. None: as the logs name them, those of a stage alike; stages are cut
  /// evenly where these do not, either.
  std::optional<GivenBlocks> blocks;
  std::string blockOptions;  ///< that say the same to `pipe-trace what-if`, for commands
};

/// A change of a run that shortens its steps.
struct Advice {
  enum class Of : std::uint8_t {
    kSchedule,
    kMicroBatches,
    kMessageOrder,
    kMessageLines,
    kWarmUp,
    kPartition,
    kBalance,
    kStage,  ///< that is as fast as others
    kRank,
    kLink,
    kLaunches,
    kLengths,  ///< of micro-batches
    kPauses,
    kData,
    kLoad,        ///< of ranks that share work
    kGroup,       ///< whose collectives are slow
    kWeights,     ///< gathers and scatters that hold up jobs
    kContention,  ///< collectives that slow down kernels beside them
    kOptimizer,   ///< of a rank, that is as fast as others
    kVariation,   ///< of jobs by chance
  };

  Of of = Of::kSchedule;
  int rank = -1;                     ///< of kRank and kOptimizer
  std::vector<std::int32_t> stages;  ///< of kStage, ascending
  std::vector<int> group;            ///< of kGroup: its ranks, ascending
  std::vector<int> lateRanks;        ///< of kLaunches: those that it is about, if not all
  std::string what;     ///< a sentence without a full stop: "take ZB-H1 in place of 1F1B"
  std::string command;  ///< that shows it: "pipe-trace what-if LOGS --schedule ZB-H1"; may be empty
  /// Whether it follows from a simulation (RunModel), not from the run itself again (RunAgain).
  bool isByModel = false;
  /// Predicted, for as many samples as a step of the run has: AdviceList::paid() · (1 − gain).
  Nanoseconds step = 0;
  /// The same in the mean over steps (AdviceList::meanStep), where the run itself was run again;
  /// else 0.
  Nanoseconds meanStep = 0;
  double gain = 0;   ///< 1 − the step with the change over that of the run as it was, found alike
  double error = 0;  ///< of the prediction, a share of the step
  /// A prediction with the messages of a rank one after the other.
  struct InLine {
    Nanoseconds step = 0;
    double gain = 0;
  };
  /// Of a schedule, where the run does not show whether messages wait for each other, and
  /// simulations take them to wait for none: the step and gain with the messages of a rank one
  /// after the other, as torch.distributed.pipelining posts them. None: not asked, or it deadlocks.
  std::optional<InLine> inLine;
  /// The most activations of a rank, in whole shares; 0: as the run, or not known.
  double peak = 0;
  int messages = 0;  ///< between ranks, in a step of one pipeline; 0: as the run
  std::vector<FrameworkOption> options;
  std::vector<std::string> notes;  ///< sentences without a full stop

  /// What it gains in the mean of both orders of messages: by this, advice is ranked.
  double meanGain() const { return inLine ? (gain + inLine->gain) / 2 : gain; }
  /// Whether the order of messages makes a difference that is more than the error.
  bool dependsOnOrder() const { return inLine.has_value() && gain - inLine->gain > error; }
};

/// The advice on a run.
struct AdviceList {
  Nanoseconds step = 0;  ///< MedianStep::window of the run
  /// MedianStep::wall, where that is what gains are a share of (MedianStep::hasPauses()).
  std::optional<Nanoseconds> wall;
  Nanoseconds meanStep = 0;  ///< MeanStep::paid() of the run
  bool isWholeRun = false;   ///< MedianStep::isWholeRun: times of steps are those of the whole run
  std::string schedule;      ///< that it followed, as people say it
  int microBatches = 0;      ///< 0: not known
  double peak = 0;   ///< most activations of a rank of the run, in whole shares; 0: not known
  double limit = 0;  ///< the most that advice may need; 0: not known
  /// The step of the run as it was, simulated: what gains of simulated advice are about. 0: not
  /// known.
  Nanoseconds simulatedStep = 0;
  std::optional<double> modelError;  ///< WhatIfAnswer::modelError
  /// The changes that gain most, one of each kind; at most kMostAdvice, the best first.
  std::vector<Advice> best;
  /// Of what findings name, whatever it gains: jobs that do not vary by chance, a slow optimizer as
  /// fast as others, ranks that begin their jobs late as soon as others; where lines are held, a
  /// slow rank as fast as its peers and a slow stage as fast as others. Among ranks that meet
  /// inside jobs also that, a slow stage as fast as others, an even load, a slow group as fast as
  /// others, hidden gathers.
  std::vector<Advice> ofRun;
  int tried = 0;  ///< changes that were computed
  /// Why there is less advice than there could be. Sentences without a full stop.
  std::vector<std::string> notes;

  /// The time that a change shortens: the wall time where much passes between steps.
  Nanoseconds paid() const { return wall.value_or(step); }

  /// A change that gains no more than this is none.
  static constexpr double kLeastGain = 0.02;
  static constexpr std::size_t kMostAdvice = 3;
};

/// Computes what each change of a run would bring, and chooses. The run itself is run again with
/// stages balanced, a rank as fast as its peers, or a link as fast as the others. So it is without
/// launches, and without data to load. Another schedule, more micro-batches, another order of
/// messages and deeper warm-ups are simulated, unless the simulation of the run as it was is off by
/// more than WhatIfAnswer::kMostError. A change that gains less than its own error is none.
///
/// Throws Error where the run has no step that counts, and where nothing says what an activation
/// takes of AdviceQuestion::limitBytes.
AdviceList adviceOn(const Run& run, const AdviceQuestion& question);

}  // namespace pipetrace
