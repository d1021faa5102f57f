#pragma once

#include <string>

namespace pipetrace {

/// A fault of a training: what goes wrong, where and when.
struct PlannedFault {
  std::string kind;  ///< as in the list of faulty_training.cpp; empty: nothing
  int rank = -1;
  int step = -1;
  double seconds = 0;  ///< for how long the rank sleeps
  int call = 0;        ///< the rank's blocks have run that often in the step before it happens

  /// Whether this process has the rank. A process with all ranks has each of them.
  bool isHere() const;
};

/// Reads PIPETRACE_FAULT: "KIND RANK STEP [SECONDS [CALL]]".
PlannedFault plannedFault();

/// Makes the file that PIPETRACE_FAULT_MARK names: the fault happens now.
void markFault();

}  // namespace pipetrace
