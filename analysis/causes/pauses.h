#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/run/steps/counted_steps.h"
#include "analysis/run_summary.h"
#include "trace/timeline.h"

namespace pipetrace {

/// Time in which the run stood still between steps, for one reason.
struct Pauses {
  enum class Reason : std::uint8_t { kUnknown, kData, kCheckpoint, kEvaluation, kPrediction };

  std::int32_t step = 0;  ///< before the longest of them
  Nanoseconds begin = 0;  ///< of that one
  Nanoseconds end = 0;
  int count = 0;
  /// After how many steps there could be one: that count and are followed, and after which none
  /// stands out for another reason.
  int steps = 0;
  Nanoseconds time = 0;   ///< of all
  Nanoseconds least = 0;  ///< of the shortest
  Nanoseconds usual = 0;  ///< after other steps, where these stand out; each has as much of it
  /// The time in which ranks of the pipelines that stood still had no step. That of steps of
  /// another phase is none.
  Nanoseconds cost = 0;
  Reason reason = Reason::kUnknown;
  /// The one that fills most of them with work of that reason; -1: none, or the steps of another
  /// phase do.
  int rank = -1;
  std::vector<int> ranks;    ///< those that fill more than half of the longest so, ascending
  Nanoseconds workTime = 0;  ///< of that rank, inside the pauses; or from step to step
  std::string work;          ///< the name of its longest job there
  /// The first and the last step of another phase in the longest pause; -1: there are none.
  std::int32_t firstOther = -1;
  std::int32_t lastOther = -1;
  /// That job in the longest of them, and the first compute job after that pause, in the timeline;
  /// null where there is none.
  const Event* longestWork = nullptr;
  const Event* next = nullptr;
  int rankOfNext = -1;
  /// Of a pause without a reason: since the first half of it all ranks but rankOfNext wait for
  /// messages, so it is that rank which does something else.
  bool areOthersWaiting = false;
  /// No job of the run is an optimizer, and there is one after most steps: it may be what weights
  /// are updated in. Found with the causes.
  bool mayBeUpdates = false;

  /// Whether steps of another phase are the reason: the program means to pause.
  bool isWanted() const { return reason == Reason::kEvaluation || reason == Reason::kPrediction; }
};

/// The pauses that stand out: longer than a hundredth of a median step, and longer than three
/// median pauses, unless the median pause is that long itself. Steps of other phases between two
/// that count are part of the pause (StepWindow::otherPhases), and of no median. They are its
/// reason if they fill more than half of it. Those of one reason and rank count together, and
/// those of several ranks; the most expensive first. A pause without a reason is the time in which
/// no pipeline has a step. Those that are longer than three usual ones (the median of all steps)
/// count apart: they have another reason. Else pipelines pause together: a step's pause is that of
/// the one that paused longest. Where the next step usually begins before the last job of the one
/// before has ended, the time by which it usually does belongs to the pause.
///
/// The reason is `data` jobs, or jobs and other events with "checkpoint", "ckpt" or "save" in their
/// names, that fill more than half of a pause on one rank. Work that lies for the most part outside
/// of the pause is none.
///
/// `counted`: of the run; the median step is MedianStep::window of these.
std::vector<Pauses> pausesOf(const Timeline& timeline, const RunSummary& summary,
                             const CountedSteps& counted = {});

}  // namespace pipetrace
