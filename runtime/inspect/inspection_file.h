#pragma once

#include <string>

#include "runtime/inspect/step_inspection.h"
#include "trace/sockets/owned_fd.h"

namespace pipetrace {

/// The lines of a step: JSON objects, one for each tensor and each gradient, with `"rank"`. Numbers
/// that JSON does not have are the texts "nan", "inf" and "-inf". docs/runtime.md lists the keys.
std::string inspectionLines(const StepInspection& step, int rank);

/// `inspect_rank<r>.jsonl` in a folder: the lines of a rank's inspected steps, each step as soon as
/// it has been seen. It replaces what was there. Rank 0 removes the files of ranks that an earlier
/// run had and this one does not have.
///
/// Threads: one.
class InspectionFile {
 public:
  /// `ranks`: how many there are. Makes the folder if it is missing. Throws Error if the file
  /// cannot be written.
  InspectionFile(const std::string& folder, int rank, int ranks);

  void write(const StepInspection& step);

  /// Why the file is not whole, for people; "" if it is. Nothing is written from then on.
  const std::string& failure() const { return failure_; }

 private:
  const int rank_;
  const std::string path_;
  OwnedFd file_;
  std::string failure_;
};

}  // namespace pipetrace
