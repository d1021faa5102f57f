#pragma once

#include <functional>
#include <optional>
#include <string>

#include "runtime/inspect/inspected_work.h"
#include "runtime/inspect/inspection_file.h"

namespace pipetrace {

class TorchWork;

/// A rank's work that is looked at in some steps, with what is seen in the rank's file; or the work
/// itself.
///
/// Threads: the compute thread.
class InspectedTraining {
 public:
  struct Options {
    int every = 0;  ///< steps; 0: never
    std::string folder;
    int rank = 0;
    int ranks = 0;  ///< how many there are
  };

  /// `work` must outlive it. Throws Error if the file cannot be written.
  InspectedTraining(const Options& options, TorchWork& work);

  /// The work for the executor.
  StageWork& work();
  /// After each step. A file that can no longer be written ends no training: `say` hears it.
  void stepEnded(const std::function<void(const std::string& line)>& say);

 private:
  TorchWork& own_;
  std::optional<InspectedWork> inspected_;
  std::optional<InspectionFile> file_;
};

}  // namespace pipetrace
