#pragma once

#include <algorithm>
#include <vector>

#include "schedule/action.h"
#include "trace/nanoseconds.h"

namespace pipetrace {

/// Differences of single jobs and links from the costs of their stages. A plan is simulated or
/// rehearsed with them to see how much time they cost.
struct Faults {
  static constexpr int kEveryStep = -1;

  /// Messages between two ranks, both ways, take another time.
  struct Link {
    int rank = 0;
    int peer = 0;
    Nanoseconds transfer = 0;
  };
  /// A job takes longer, or begins later than its inputs allow.
  struct Job {
    Action action;
    int step = kEveryStep;
    Nanoseconds longer = 0;
    Nanoseconds late = 0;
  };

  std::vector<Link> links;  ///< one for two ranks; of several the last counts
  std::vector<Job> jobs;    ///< those of one action add up

  bool empty() const { return links.empty() && jobs.empty(); }

  /// Whether any changes the time of the action, in some step.
  bool change(const Action& action) const {
    return std::any_of(jobs.begin(), jobs.end(), [&](const Job& job) {
      return job.action == action && (job.longer != 0 || job.late != 0);
    });
  }

  /// The sum of those of one action in one step.
  Job of(const Action& action, int step) const {
    Job sum{.action = action, .step = step};
    for (const Job& job : jobs) {
      if (!(job.action == action) || (job.step != kEveryStep && job.step != step)) continue;
      sum.longer += job.longer;
      sum.late += job.late;
    }
    return sum;
  }
};

}  // namespace pipetrace
