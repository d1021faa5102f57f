#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "trace/diagnostic.h"
#include "trace/event.h"
#include "trace/nanoseconds.h"

namespace pipetrace {

/// How much of their annotations the operators of jobs fill, where jobs have the operators' times.
/// Work outside of operators is idle time then.
class OperatorShares {
 public:
  /// `job` lasts `filled`, of the `available` time that its annotation has after its receives.
  void add(const Event& job, Nanoseconds filled, Nanoseconds available);
  OperatorShares& operator+=(const OperatorShares& other);

  /// Warns where the operators of a stage's forwards or backwards fill less than three quarters of
  /// the time, and leave over 0.5 ms of a job empty on average. In traces of programs whose work is
  /// operators, jobs of 10 ms are filled to 90 % and more, and Python takes up to 0.3 ms of short
  /// ones. `rank` names jobs without a stage.
  void report(int rank, const std::string& file, Diagnostics& diagnostics) const;

 private:
  struct Sum {
    Nanoseconds filled = 0;
    Nanoseconds available = 0;
    std::int64_t jobs = 0;

    Sum& operator+=(const Sum& other);
    bool isLow() const;
  };
  std::map<std::pair<std::int32_t, JobKind>, Sum> sums_;  // by stage
};

}  // namespace pipetrace
