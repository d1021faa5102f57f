#pragma once

#include <string>

#include "runtime/checkpoint/manifest.h"

namespace pipetrace {

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
