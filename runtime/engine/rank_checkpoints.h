#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "profiler/job.h"
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/checkpoint/checkpoint_folder.h"
#include "runtime/checkpoint/checkpoint_writer.h"
#include "runtime/engine/checkpoint_options.h"
#include "runtime/engine/engine_shared.h"
#include "runtime/train/model/model.h"
#include "trace/error.h"

namespace pipetrace {

/// The text of the Error that `body` throws; "" for none.
template <typename Body>
std::string errorIn(const Body& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

std::vector<std::string> blockNames(const Model& model);

/// The blocks of one rank, on their way into files and back, and what ranks say to each other about
/// them. The first rank of each stage writes the files of its blocks; with
/// CheckpointOptions::gathers rank 0 has all files.
///
/// Threads: the rank's own. All ranks call the functions marked with "all ranks" in the same order.
class RankBlocks {
 public:
  /// All must outlive it.
  RankBlocks(const EngineShared& shared, SessionRank& rank, TrainedStages& stages)
      : shared_(shared), rank_(rank), stages_(stages) {}

  bool isRoot() const { return rank_.rank() == 0; }
  /// Whether this rank has files: with `gathers` only rank 0.
  bool hasFiles() const { return isRoot() || !gathers(); }

  /// The blocks of this rank with the newest weights, or of those stages of which it is the writer.
  std::vector<LiveBlock> live(bool ofWriter, bool withOptimizer) const;
  /// All ranks. Returns what this rank writes: the states of `own`, its blocks as the writer. With
  /// `gathers` rank 0 gets those of all ranks, and the others get none.
  std::vector<BlockState> toWrite(const std::vector<LiveBlock>& own);
  /// All ranks. The states of `blocks` from files. `files`: given where hasFiles(). Throws Error on
  /// all ranks if one fails; `folder` is for its text.
  std::vector<BlockState> read(const std::string& folder, const std::optional<Checkpoint>& files,
                               const std::vector<LiveBlock>& blocks);

  /// All ranks. Throws the first error that a rank has, on all of them. "": none.
  void shareError(const std::string& error);
  /// All ranks. The texts of all ranks, on rank 0.
  std::vector<std::string> textsOfAll(const std::string& own);
  /// All ranks, before one that hasFiles() writes. Throws Error, on all ranks, if one does not see
  /// the folder that rank 0 has made.
  void requireShared(const std::string& folder);

 private:
  bool gathers() const { return shared_.options.checkpoints.gathers && shared_.env.has_value(); }
  std::vector<BlockState> readFromRoot(const std::string& folder,
                                       const std::optional<Checkpoint>& files,
                                       const std::vector<LiveBlock>& blocks);

  const EngineShared& shared_;
  SessionRank& rank_;
  TrainedStages& stages_;
};

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

/// The step whose checkpoint a training begins with; empty: it begins at its first step. Where a
/// launcher has started all ranks again (`isRestart`) it is the newest one, if there is any. Throws
/// Error if there is none to go on from, and for a new training in a folder that has checkpoints.
std::optional<std::int64_t> firstCheckpoint(const CheckpointOptions& options, bool isRestart);

/// Throws Error for what a first start would be refused for, without a rank. It throws as
/// firstCheckpoint() does, and as Checkpoint does for a step that is not there or not whole, or of
/// another model. Options without a folder are none.
void requireFirstCheckpoint(const CheckpointOptions& options, const Model& model);

}  // namespace pipetrace
