#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/checkpoint/checkpoint.h"
#include "runtime/engine/engine_shared.h"
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

}  // namespace pipetrace
