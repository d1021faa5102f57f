#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/checkpoint/manifest.h"

namespace pipetrace {

/// "FOLDER/step_20"
std::string stepFolder(const std::string& folder, std::int64_t step);

/// The steps in a folder of checkpoints, ascending: those that have a manifest. Throws Error if the
/// folder cannot be read; a folder that is missing has none.
std::vector<std::int64_t> checkpointSteps(const std::string& folder);

/// The last of them; nullopt: there is none.
std::optional<std::int64_t> newestCheckpoint(const std::string& folder);

/// Those without a manifest, which do not count: of a save that is under way, or of one that a kill
/// ended.
std::vector<std::int64_t> unfinishedSteps(const std::string& folder);

/// Removes a step. Its manifest goes first, so that it never counts while files of it are missing.
/// Files that are no checkpoint's stay, and so does the folder then. Throws Error with the path.
void removeCheckpoint(const std::string& folder, std::int64_t step);

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

/// Makes a folder and those above it, unless they are there. Several ranks may do it at once.
/// Throws Error with the path and the reason.
void makeFolder(const std::string& path);

/// Saves weights into a folder of their own, with the files that the folder of a checkpoint's step
/// has (Checkpoint::at() reads both). They are written into FOLDER.saving, which takes the name
/// when it is whole. So a kill or a full disk leaves what was there before. Where the file system
/// cannot exchange two names (renameat2), a kill between two renames leaves it as FOLDER.old.
///
/// Threads: one.
class WeightsFolder {
 public:
  /// Makes FOLDER.saving, and removes one that a kill has left. Throws Error with path and reason,
  /// also if FOLDER is there and has something else than saved weights.
  explicit WeightsFolder(std::string folder);
  /// Removes FOLDER.saving.
  ~WeightsFolder();
  WeightsFolder(const WeightsFolder&) = delete;
  WeightsFolder& operator=(const WeightsFolder&) = delete;

  /// Where the files of blocks go (writeBlockFile()).
  static std::string asideOf(const std::string& folder);
  /// Writes the manifest, and gives the folder its name. All is on the disk when it returns. Throws
  /// Error with path and reason; then FOLDER is as it was.
  void finish(const Manifest& manifest);

 private:
  const std::string folder_;
};

}  // namespace pipetrace
