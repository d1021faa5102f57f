#include "runtime/engine/inspected_training.h"

#include "runtime/train/torch_work.h"

namespace pipetrace {

InspectedTraining::InspectedTraining(const Options& options, TorchWork& work) : own_(work) {
  if (options.every == 0) return;
  inspected_.emplace(
      work, InspectOptions{
                .every = options.every,
                .rank = options.rank,
                .parameters = [&work](int stage) { return work.stage(stage).namedParameters(); },
                .lossScale = [&work] { return work.agreement().lossScale().value(); }});
  file_.emplace(options.folder, options.rank, options.ranks);
}

StageWork& InspectedTraining::work() {
  return inspected_ ? static_cast<StageWork&>(*inspected_) : own_;
}

void InspectedTraining::stepEnded(const std::function<void(const std::string& line)>& say) {
  if (!inspected_) return;
  const auto seen = inspected_->take();
  if (!seen || !file_->failure().empty()) return;
  file_->write(*seen);
  if (!file_->failure().empty()) say("note: " + file_->failure());
}

}  // namespace pipetrace
