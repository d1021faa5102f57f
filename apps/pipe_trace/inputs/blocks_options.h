#pragma once

#include <optional>
#include <string>

#include "analysis/what_if/run_blocks.h"

namespace pipetrace {

class CommandApp;

/// The options `--blocks` and `--run-partition` as typed: the blocks of the model that a run
/// trained.
struct BlocksOptions {
  std::string blocks;
  std::string runPartition;

  /// Reads the files. None: neither is given. Throws Error, which names the option.
  std::optional<GivenBlocks> given() const;
  /// The same options for another command, as a shell reads them; empty: none.
  std::string words() const;
};

/// Declares them in that group. `options` must outlive `app`.
void addBlocksOptions(CommandApp& app, BlocksOptions& options, const std::string& group);

/// A partition as typed: a file, its text, or the blocks of the stages alone. Throws Error, which
/// begins with the option.
BlockPartition partitionTyped(const std::string& option, const std::string& text);

}  // namespace pipetrace
