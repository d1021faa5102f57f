#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/checkpoint/block_state.h"
#include "trace/error.h"

namespace pipetrace {

/// Name, shape and type ("float32", as torch calls it) of a tensor in a checkpoint.
struct TensorIdentity {
  std::string name;
  std::vector<std::int64_t> shape;
  std::string type;
  bool operator==(const TensorIdentity&) const = default;
};

/// A file of a checkpoint, and what it must have inside.
struct BlockFile {
  int block = 0;
  std::string blockName;
  std::optional<int> version;  ///< as BlockState::version
  std::string file;            ///< its name in the step's folder
  std::int64_t bytes = 0;
  std::uint32_t crc32 = 0;  ///< of all its bytes; that of zlib, zip and PNG
  std::vector<TensorIdentity> parameters;
  std::vector<TensorIdentity> buffers;
  bool operator==(const BlockFile&) const = default;
};

/// "block_3.pt", and of an older version "block_3.version_2.pt".
std::string blockFileName(int block, std::optional<int> version);

/// The error of a writeBlockFile() that gave up.
class WritingGivenUp : public Error {
 public:
  using Error::Error;
};

/// Writes a dict of BlockState's keys and tensors, in the format of torch::pickle_save(). It is a
/// plain dict: the tag of TorchScript's types, with which that function (2.11) wraps it, is what
/// Python's torch.load refuses with its defaults. The bytes go to the disk piece by piece. So it
/// takes no memory beside that of the tensors, which must be on the CPU.
///
/// The file appears under its name when it is whole and synced (OutputFile); the folder must exist,
/// and is not synced. Throws Error with path and reason, and leaves nothing behind then.
/// `giveUp`: looked at between pieces; once it is true WritingGivenUp is thrown.
BlockFile writeBlockFile(const std::string& folder, const BlockState& state,
                         const std::atomic<bool>& giveUp);

/// Reads such a file back. Throws Error if it is missing, has another size or checksum than
/// `expected` says, or other tensors inside. Takes twice the memory of the file for a while.
BlockState readBlockFile(const std::string& folder, const BlockFile& expected);

}  // namespace pipetrace
