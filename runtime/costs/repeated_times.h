#pragma once

#include <compare>
#include <functional>
#include <map>
#include <vector>

#include "trace/job_kind.h"
#include "trace/nanoseconds.h"

namespace pipetrace {

/// The times of jobs that are run again and again, on a machine that others use, too.
///
/// The others only make a job longer, for milliseconds or for seconds at a time. So a job's time is
/// the median of its undisturbed runs: those that took at most a tenth longer than the shortest
/// one. The shortest one alone would depend on chance.
class RepeatedTimes {
 public:
  struct Job {
    JobKind kind = JobKind::kForward;
    int stage = 0;
    auto operator<=>(const Job&) const = default;
  };

  void add(const Job& job, Nanoseconds time) { times_[job].push_back(time); }

  /// Its time; 0 for a job that never ran.
  Nanoseconds of(const Job& job) const;

  /// Whether more runs would change little. Then each job has run 20 times or more, and two of
  /// three runs were undisturbed. The first half of its runs and the second one give times that are
  /// less than 2 % apart. Updates by the optimizer do not matter, nor do jobs of less than 10 µs.
  bool areSettled() const;

 private:
  std::map<Job, std::vector<Nanoseconds>> times_;
};

/// How often jobs are run.
struct RoundsWanted {
  int rounds = 3;           ///< at least, after a first one
  Nanoseconds atLeast = 0;  ///< as long as they take less, there are more
  /// As long as they take less and the times are not settled, there are more.
  Nanoseconds atMost = 0;
};

/// Calls `run` with 0, 1, … The first call, in which memory is made that stays, is not counted.
/// There are a thousand others at most. `now` is a clock.
void repeatRounds(const RoundsWanted& wanted, const std::function<Nanoseconds()>& now,
                  const std::function<void(int round)>& run, const RepeatedTimes& times);

}  // namespace pipetrace
