#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/checkpoint/block_state.h"
#include "runtime/checkpoint/manifest.h"

namespace pipetrace {

/// A checkpoint that is read. Nothing here changes a weight: restore() does, when all ranks have
/// read their blocks without an Error.
class Checkpoint {
 public:
  /// Reads the manifest of a step, and looks whether all files are there with their sizes. Throws
  /// Error with path and reason: no such checkpoint (which steps there are), a newer format, a
  /// manifest that was changed, a file that is missing or was cut off.
  Checkpoint(const std::string& folder, std::int64_t step);
  /// The newest one. Throws Error if there is none.
  static Checkpoint newest(const std::string& folder);
  /// That in this folder itself: weights (WeightsFolder), or the folder of a step. Throws Error.
  static Checkpoint at(const std::string& folder);

  const Manifest& manifest() const { return manifest_; }

  /// Throws Error if the model has another number of blocks, or others: `names`, of all blocks in
  /// their order.
  void requireModel(const std::vector<std::string>& names) const;
  /// Throws Error if the checkpoint has the state of another optimizer. `name`: of
  /// optimizerName(). A checkpoint without one fits.
  void requireOptimizer(const std::string& name) const;

  /// Reads the newest state of each of these blocks, checks their checksums, and that each fits its
  /// block (requireFits()). Throws Error. The states are for restore(), in the order of `blocks`.
  std::vector<BlockState> read(const std::vector<LiveBlock>& blocks) const;
  /// Reads the newest state of one block, and checks its checksum alone. Throws Error.
  BlockState read(int block) const;

  /// The older versions of a block's parameters that a plan without a flush still needs, ascending.
  std::vector<int> versionsOf(int block) const;
  /// Reads one of them. Throws Error.
  BlockState readVersion(int block, int version) const;

  /// Reads all files and checks their checksums. Throws Error.
  void verify() const;

 private:
  Checkpoint(std::string folder, Manifest manifest);
  const BlockFile& fileOf(int block, std::optional<int> version) const;

  std::string folder_;  // of the step
  Manifest manifest_;
};

/// requireFits() with the folder's name in the Error.
void requireFits(const std::string& folder, const BlockState& state, const LiveBlock& block);

}  // namespace pipetrace
