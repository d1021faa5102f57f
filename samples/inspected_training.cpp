#include "samples/inspected_training.h"

#include "runtime/engine/say.h"
#include "runtime/train/torch_work.h"
#include "samples/sample_options.h"

namespace pipetrace {

InspectedTraining::InspectedTraining(const SampleOptions& options, TorchWork& work, int rank,
                                     int ranks)
    : own_(work) {
  if (options.inspectEvery == 0) return;
  inspected_.emplace(
      work, InspectOptions{
                .every = options.inspectEvery,
                .rank = rank,
                .parameters = [&work](int stage) { return work.stage(stage).namedParameters(); },
                .lossScale = [&work] { return work.agreement().lossScale().value(); }});
  file_.emplace(options.folderOfLogs(), rank, ranks);
}

StageWork& InspectedTraining::work() {
  return inspected_ ? static_cast<StageWork&>(*inspected_) : own_;
}

void InspectedTraining::stepEnded() {
  if (!inspected_) return;
  const auto seen = inspected_->take();
  if (!seen || !file_->failure().empty()) return;
  file_->write(*seen);
  if (!file_->failure().empty()) sayOnStderr("note: " + file_->failure());
}

}  // namespace pipetrace
