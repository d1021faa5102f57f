#pragma once

#include <string>
#include <vector>

#include "analysis/diff/run_diff.h"

namespace pipetrace {

/// "forwards", "input halves of backwards"; "jobs" for JobKind::kOther.
std::string jobsText(JobKind kind);

/// "4.1 %", of a share without its sign.
std::string shareOf(double share);

/// "+4.1 %", "-0.3 %".
std::string signedShare(double share);

/// "+12.30 ms", "-873 ns", "0 ns".
std::string signedTime(Nanoseconds time);

/// "take 10.0 % longer", "take 9.1 % less time", "take 2.40 times as long".
std::string takesText(double factor);

/// The interval of a difference as shares of `whole`: "3.8 to 4.4 %"; empty where it is not known.
std::string intervalText(const std::optional<ConfidenceInterval>& sure, double whole);

/// "stage 2", "position 1"; empty: no place.
std::string placeText(int stage, int position);

/// "12.30 ms more", "873 ns less".
std::string moreText(Nanoseconds time);

/// "forwards of stage 2", "imbalance (stage 2)", "transfer (ranks 1 and 2)".
std::string partName(const DiffPart& part);

/// "backwards of stage 1", "messages, ranks 1 and 2".
std::string changeName(const JobChange& job);
std::string changeName(const LinkChange& link);

/// The parts of one kind or class together, or time between steps.
struct DiffSum {
  std::string name;  ///< "forwards", "imbalance"
  Nanoseconds a = 0;
  Nanoseconds b = 0;
};

/// Those that are not 0 in both runs, in the order of the parts, then the time up to the next step.
/// They add up to RunDiff::unit().
std::vector<DiffSum> sumsOf(const RunDiff& diff);

/// The name of that unit: "step", "micro-batch", with its wall time "wall time of a step".
std::string unitText(const RunDiff& diff);

/// The parts that differ beyond noise and by a thousandth of A's step or more, the largest
/// difference first. They point into `diff`.
std::vector<const DiffPart*> partsThatDiffer(const RunDiff& diff);

/// A reason why steps of B take longer or shorter.
struct DiffReason {
  std::string text;             ///< "stage 2's jobs take 10.0 % longer"
  Nanoseconds time = 0;         ///< its share of the difference of RunDiff::unit()
  bool namesSchedules = false;  ///< both, as they differ
  /// Less than half of it is of parts that differ beyond noise. The reasons of a difference leave
  /// it out.
  bool isNoise = false;
};

/// For lists of all reasons: "jobs take longer, each by little, within noise".
std::string listedText(const DiffReason& reason);

/// Clear changes of jobs and messages in words, those of several places that changed alike as one.
/// Each has the busy time of these jobs, and the idle time that is blamed on them; 0 where steps
/// cannot be compared.
std::vector<DiffReason> changeReasons(const RunDiff& diff);

/// All reasons for the difference of RunDiff::unit(): changeReasons(), what is left by class, and
/// the time between steps. They add up to it. The largest first.
std::vector<DiffReason> reasonsOf(const RunDiff& diff);

}  // namespace pipetrace
