#include "apps/pipe_trace/inputs/blocks_options.h"

#include <CLI/CLI.hpp>

#include "apps/cli/checks.h"
#include "apps/cli/command_app.h"
#include "apps/cli/costs.h"
#include "apps/pipe_trace/inputs/view_command.h"
#include "schedule/partition/partition_file.h"
#include "trace/error.h"
#include "trace/text/shell_word.h"

namespace pipetrace {
namespace {

constexpr const char* kAlike = "equal";

}  // namespace

BlockPartition partitionTyped(const std::string& option, const std::string& text) {
  try {
    return blockPartitionOf(partitionOption(text));
  } catch (const Error& error) {
    throw Error(option + ": " + error.what());
  }
}

std::optional<GivenBlocks> BlocksOptions::given() const {
  if (blocks.empty()) {
    if (runPartition.empty()) return std::nullopt;
    throw Error("--run-partition " + runPartition +
                " needs --blocks: FILE, a table of what the blocks cost, or equal");
  }
  GivenBlocks given;
  if (blocks != kAlike) given.table = readBlocks(blocks);
  if (!runPartition.empty()) given.partition = partitionTyped("--run-partition", runPartition);
  return given;
}

std::string BlocksOptions::words() const {
  if (blocks.empty()) return {};
  std::string words = "--blocks " + (blocks == kAlike ? blocks : inputWord(blocks));
  if (runPartition.empty()) return words;
  return words + " --run-partition " +
         (isPartitionText(runPartition) ? printedShellWord(runPartition) : inputWord(runPartition));
}

void addBlocksOptions(CommandApp& app, BlocksOptions& options, const std::string& group) {
  app.add_option("--blocks", options.blocks,
                 "Costs of the model's blocks (docs/schedules.md), over which the times of a stage "
                 "are shared; or equal, where the blocks of a stage are alike")
      ->type_name("FILE")
      ->check(notEmpty())
      ->group(group);
  app.add_option("--run-partition", options.runPartition,
                 "How many blocks each stage of the run had, where the logs do not say it: "
                 "12,13,13,11, or a file as of --partition")
      ->type_name("N,N,...|FILE")
      ->check(notEmpty())
      ->group(group);
}

}  // namespace pipetrace
