#pragma once

#include <cstdint>
#include <string>

#include "runtime/checkpoint/manifest.h"

namespace pipetrace {

/// A folder of checkpoints that a run writes to:
///
///     FOLDER/lock                          one run at a time (flock)
///     FOLDER/step_20/block_0.pt, …         a file for each block
///     FOLDER/step_20/manifest.json         last: without it the step does not count
///
/// Rank 0 has it; all ranks write files of blocks (CheckpointWriter), on several hosts through a
/// file system that they share. A save is then
///
///     rank 0      beginStep(), before any rank writes
///     all ranks   their files; each tells rank 0 which (filesText())
///     rank 0      finishStep() with all of them, then keepNewest()
///
/// and giveUpStep() if a rank fails, when none writes any more. After a kill at any time the
/// checkpoints that were finished are as they were.
///
/// Threads: one.
class CheckpointFolder {
 public:
  /// Makes the folder and those above it, takes its lock, and removes steps without a manifest,
  /// which runs that were killed have left. Throws Error with path and reason if it cannot be made,
  /// or another run writes to it (its process and host are named). On file systems without locks
  /// none is taken (isLocked()).
  explicit CheckpointFolder(std::string path);
  /// Gives the lock back.
  ~CheckpointFolder();
  CheckpointFolder(const CheckpointFolder&) = delete;
  CheckpointFolder& operator=(const CheckpointFolder&) = delete;

  const std::string& path() const { return path_; }
  bool isLocked() const { return isLocked_; }

  /// Makes the folder of a step. Throws Error if it cannot, or has a checkpoint already: a run that
  /// went back to an earlier step calls removeAfter() first.
  void beginStep(std::int64_t step);
  /// Writes the manifest, whose files must be there with their sizes. All is on the disk when it
  /// returns, and from then on the step counts. Throws Error with path and reason; then it does
  /// not.
  void finishStep(const Manifest& manifest);
  /// Removes what there is of a step without a manifest. Throws Error.
  void giveUpStep(std::int64_t step);

  /// Removes the checkpoints of later steps: a run that goes on from `step` makes them again.
  /// Throws Error.
  void removeAfter(std::int64_t step);
  /// Removes all but the newest `count` checkpoints; the newest one always stays. Throws Error for
  /// a count below 1, or a file that cannot be removed.
  void keepNewest(int count);

 private:
  void takeLock();

  const std::string path_;
  int lock_ = -1;  // an open file
  bool isLocked_ = false;
};

/// Writes the manifest of the files in `own`, which must be there with their sizes, and syncs all.
/// Throws Error with path and reason; it asks whether all ranks share `shared`.
void writeManifest(const std::string& own, const std::string& shared, const Manifest& manifest);

}  // namespace pipetrace
