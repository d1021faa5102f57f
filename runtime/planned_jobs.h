#pragma once

#include <string>
#include <vector>

#include "runtime/lanes/message_key.h"
#include "schedule/plan.h"

namespace pipetrace {

/// A message at one end of a job: the other rank, and the message's key. `rank` is kNobody if there
/// is none.
struct MessageEnd {
  static constexpr int kNobody = -1;
  int rank = kNobody;
  MessageKey key;  ///< its step is filled in when the job runs

  bool exists() const { return rank != kNobody; }
};

/// An action of one rank with all that the executor needs to run it.
struct PlannedJob {
  Action action;
  std::string text;  ///< toText(action)
  int chunk = 0;
  MessageEnd input;   ///< where its activations or gradient come from
  MessageEnd output;  ///< where its result goes
};

/// Throws Error for actions other than forward and backward.
std::vector<PlannedJob> plannedJobs(const Plan& plan, int rank);

}  // namespace pipetrace
