#include "runtime/engine/first_checkpoint.h"

#include <string>

#include "runtime/checkpoint/checkpoint.h"
#include "runtime/checkpoint/checkpoint_folder.h"
#include "runtime/engine/rank_blocks.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

/// Two trainings in one folder would remove each other's checkpoints, and go on from the other's.
void requireNone(const std::string& folder) {
  const std::optional<std::int64_t> newest = newestCheckpoint(folder);
  if (!newest) return;
  throw Error("the folder " + folder + " has a checkpoint of step " + std::to_string(*newest) +
              " already, and a new training would mix its own with it; resume to go on from it, or "
              "name another folder");
}

}  // namespace

std::optional<std::int64_t> firstCheckpoint(const CheckpointOptions& options, bool isRestart) {
  // A first start refuses checkpoints of other trainings, so those that a restart finds are its
  // own.
  if (!options.resumes && !isRestart) {
    requireNone(options.folder);
    return std::nullopt;
  }
  if (!isRestart && options.resumeStep) return options.resumeStep;
  const std::optional<std::int64_t> newest = newestCheckpoint(options.folder);
  // A restart without one died before the first was whole.
  if (newest || (isRestart && !options.resumes)) return newest;
  throw Error("there is no checkpoint in " + options.folder + " to go on from");
}

void requireFirstCheckpoint(const CheckpointOptions& options, const Model& model) {
  if (options.folder.empty()) return;
  const std::optional<std::int64_t> step = firstCheckpoint(options, /*isRestart=*/false);
  if (step) Checkpoint(options.folder, *step).requireModel(blockNames(model));
}

}  // namespace pipetrace
