#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "profiler/job.h"
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/checkpoint/checkpoint_folder.h"
#include "runtime/checkpoint/checkpoint_writer.h"
#include "runtime/engine/engine_shared.h"
#include "runtime/engine/rank_blocks.h"

namespace pipetrace {

/// The checkpoints of an engine, on one rank. The first rank of each stage writes the files of its
/// blocks, and rank 0 the manifest, once it has heard of all of them.
///
/// Threads: the rank's own.
class RankCheckpoints {
 public:
  /// All must outlive it. Throws Error if rank 0 cannot write to the folder, or
  /// another rank does not see it, unless rank 0 keeps all files.
  RankCheckpoints(const EngineShared& shared, SessionRank& rank, TrainedStages& stages);
  ~RankCheckpoints();

  /// Goes on from a checkpoint, if the options say so: puts weights and optimizer back. Where the
  /// launcher has started all ranks again, it is the newest one, if there is any. Returns the step
  /// to run next; 0: from the start. Throws Error on all ranks if one cannot, before any rank
  /// changes a weight.
  int resume();

  /// Call it before the training. `rowsOfStep`: of all replicas. Says from where it goes on.
  void beginTraining(std::int64_t rowsOfStep);
  /// The same before evaluations and predictions.
  void sayNotes();

  /// After each step of the training. `ended`: how many steps have ended.
  void stepEnded(int ended);
  /// Saves now, unless this step was saved.
  void save(int ended);
  /// Waits until what was saved is on the disk, and counts. Throws Error with path and reason if it
  /// does not.
  void finish();

 private:
  bool isRoot() const { return blocks_.isRoot(); }
  void finishSave();
  void shareScale(const std::optional<Checkpoint>& checkpoint);
  std::string nameOfOptimizer() const;

  const EngineShared& shared_;
  SessionRank& rank_;
  TrainedStages& stages_;
  RankBlocks blocks_;
  std::unique_ptr<CheckpointFolder> folder_;  // of rank 0
  Job copy_;                                  // of the save that is written; set before it
  std::unique_ptr<CheckpointWriter> writer_;
  std::optional<int> underWay_;     // the step that is being saved
  std::vector<std::string> notes_;  // on rank 0: of resume(), to be said
  std::string rows_;                // of a step, of all replicas; "": it is not known
  std::string rowsBefore_;          // the same when the checkpoint was saved
  int saved_ = -1;                  // the last one that was begun
};

}  // namespace pipetrace
