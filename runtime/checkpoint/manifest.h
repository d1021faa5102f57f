#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/checkpoint/block_file.h"
#include "runtime/train/optimize/loss_scale.h"

namespace pipetrace {

/// The file manifest.json of a checkpoint. It is written last: a checkpoint without it does not
/// count.
struct Manifest {
  /// The number of the format. Readers refuse newer ones; a change that older readers understand
  /// keeps it.
  static constexpr int kFormat = 1;
  static constexpr const char* kFileName = "manifest.json";

  std::int64_t step = 0;          ///< steps that ended, so the first one to run after it
  std::int64_t dataPosition = 0;  ///< how much of the data was used, as the program counts it
  std::uint64_t seed = 0;         ///< of weights and dropout

  LossScale::State scale;  ///< of mixed precision

  std::string plan;         ///< its name, for people
  std::string fingerprint;  ///< of the plan (fingerprintText())
  std::string optimizer;    ///< optimizerName(); "": none
  int numBlocks = 0;        ///< of the model

  /// A program's own notes for when it goes on, by name.
  std::map<std::string, std::string> notes;

  /// One file for each block, and those of older versions, in any order.
  std::vector<BlockFile> files;

  bool operator==(const Manifest&) const = default;
};

/// Throws Error if a block has no file, or two of the same version, or two names.
void requireComplete(const Manifest& manifest);

/// JSON with its own checksum, for Manifest::kFileName. The order of files does not matter.
std::string manifestText(const Manifest& manifest);

/// The reverse. Throws Error, which names `path`, for a text that is none, has a newer format, was
/// changed by anything, or is not complete.
Manifest readManifest(std::string_view text, const std::string& path);

/// For a rank to tell another one which files it has written; one line.
std::string filesText(const std::vector<BlockFile>& files);
/// Throws Error for a text that filesText() has not made.
std::vector<BlockFile> filesFromText(std::string_view text);

}  // namespace pipetrace
