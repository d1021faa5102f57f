#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "runtime/inspect/step_inspection.h"
#include "runtime/stage_work.h"
#include "runtime/train/optimize/optimizer_maker.h"

namespace pipetrace {

/// Options of InspectedWork.
struct InspectOptions {
  int every = 1;  ///< the steps 0, every, 2 · every, …
  int rank = 0;
  std::function<NamedParameters(int stage)> parameters = {};  ///< of a stage of the rank
  std::function<double()> lossScale = {};                     ///< empty: 1
};

/// Looks at what stages send and at their gradients, in some steps. It changes no bit of the
/// training. On a device it queues what it needs behind the jobs, and nobody waits within a step.
///
/// Threads: the compute thread.
class InspectedWork : public ForwardingWork {
 public:
  /// `inner` must outlive it. Throws Error for less than every step.
  InspectedWork(StageWork& inner, InspectOptions options);

  void accept(const Plan& plan, int rank) override;
  void beginStep(int step) override;
  void runForward(int stage, int microBatch, JobMessages messages) override;
  void runBackward(int stage, int microBatch, JobMessages messages) override;
  void runBackwardInput(int stage, int microBatch, JobMessages messages) override;
  void backwardWeight(int stage, int microBatch) override;
  void runPart(const Action& part, JobMessages messages) override;

  /// Returns what was seen of the step that has just ended, once; nothing if it was not inspected.
  /// Waits for the device.
  std::optional<StepInspection> take();

 private:
  struct Queued {
    StepInspection step;
    std::vector<at::Tensor> figures;               // of step.sent
    std::vector<std::array<at::Tensor, 2>> norms;  // of step.gradients: before, after
  };

  void lookAt(bool isForward, int stage, int microBatch, const JobMessages& messages);
  template <typename Run>
  void backwardPart(int stage, Run run);
  void lookAtGradients(int stage, bool isBefore);

  const InspectOptions options_;
  TensorRoutes routes_;
  std::map<int, int> parts_;                  // by stage: its backwards and halves in a step
  std::map<int, int> done_;                   // of them
  std::map<int, std::size_t> firstGradient_;  // by stage: in the step's gradients
  int firstMicroBatch_ = 0;
  std::optional<Queued> queued_;  // in a step that is inspected
};

}  // namespace pipetrace
