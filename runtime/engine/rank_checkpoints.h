#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/checkpoint/checkpoint.h"
#include "runtime/checkpoint/checkpoint_folder.h"
#include "runtime/checkpoint/checkpoint_writer.h"
#include "runtime/engine/engine_shared.h"

namespace pipetrace {

/// The checkpoints of an engine, on one rank. The first rank of each stage writes the files of its
/// blocks, and rank 0 the manifest, once it has heard of all of them.
///
/// Threads: the rank's own.
class RankCheckpoints {
 public:
  /// All must outlive it. Throws Error if rank 0 cannot write to the folder.
  RankCheckpoints(const EngineShared& shared, SessionRank& rank, TrainedStages& stages);
  ~RankCheckpoints();

  /// Goes on from a checkpoint, if the options say so: puts weights and optimizer back. Returns the
  /// step to run next; 0: from the start. Throws Error on all ranks if one cannot, before any rank
  /// changes a weight.
  int resume();

  /// After each step of the training. `ended`: how many steps have ended.
  void stepEnded(int ended);
  /// Saves now, unless this step was saved.
  void save(int ended);
  /// Waits until what was saved is on the disk, and counts. Throws Error with path and reason if it
  /// does not.
  void finish();

 private:
  bool isRoot() const { return rank_.rank() == 0; }
  bool isWriter(int stage) const;
  std::vector<LiveBlock> liveBlocks(bool ofWriter) const;
  void finishSave();
  void shareError(const std::string& error);
  std::string nameOfOptimizer() const;

  const EngineShared& shared_;
  SessionRank& rank_;
  TrainedStages& stages_;
  std::unique_ptr<CheckpointFolder> folder_;  // of rank 0
  std::unique_ptr<CheckpointWriter> writer_;
  std::optional<int> underWay_;  // the step that is being saved
  int saved_ = -1;               // the last one that was begun
};

}  // namespace pipetrace
