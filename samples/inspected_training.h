#pragma once

#include <optional>

#include "runtime/inspect/inspected_work.h"
#include "runtime/inspect/inspection_file.h"

namespace pipetrace {

struct SampleOptions;
class TorchWork;

/// A rank's work as --inspect-every wants it: looked at, with what is seen in the rank's file.
/// Without the option it is the work itself.
///
/// Threads: the compute thread.
class InspectedTraining {
 public:
  /// Both must outlive it. Throws Error if the file cannot be written.
  InspectedTraining(const SampleOptions& options, TorchWork& work, int rank, int ranks);

  /// The work for the executor.
  StageWork& work();
  /// After each step. A file that can no longer be written ends no training: stderr hears it.
  void stepEnded();

 private:
  TorchWork& own_;
  std::optional<InspectedWork> inspected_;
  std::optional<InspectionFile> file_;
};

}  // namespace pipetrace
