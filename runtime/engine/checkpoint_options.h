#pragma once

#include <optional>
#include <string>

namespace pipetrace {

/// The checkpoints of a training: what makes it possible to go on with it, under another plan, too.
struct CheckpointOptions {
  std::string folder = {};             ///< empty: there are none. All ranks share it, or `gathers`
  int everySteps = 0;                  ///< of the training; 0: never by itself
  int keep = 2;                        ///< the newest ones, at least 1
  bool resumes = false;                ///< goes on from one
  std::optional<int> resumeStep = {};  ///< from that; empty: from the newest
  /// Rank 0 keeps all files, and the others send it their blocks: for ranks on hosts that share no
  /// folder. A save then takes the time to send them all, and rank 0's memory for them.
  bool gathers = false;
  /// The first signal ends the step on all ranks, and saves. Else it ends the run at once.
  bool onStop = false;
  double exitAfterMinutes = 0;  ///< saves and ends the training then; 0: never
};

}  // namespace pipetrace
