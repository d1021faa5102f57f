#include "parser/foreign/names/programs/programs.h"

namespace pipetrace {

/// Spans of its structured log, which it turns into Chrome JSON.
std::span<const NameRow> torchtitanNames() {
  static constexpr NameRow kRows[] = {
      // They hold a whole schedule with its waits, or a whole training step.
      {R"(fwd_bwd|forward_backward|step|train_step)", JobKind::kOther},
      {R"(model_forward)", JobKind::kForward},
      {R"(model_backward)", JobKind::kBackward},
      {R"(optim)", JobKind::kOptimizer},
      {R"(fetching_batch|post_dataloading_process)", JobKind::kData, NameUse::kAlways},
      {R"(collect_dist_metrics)", JobKind::kAllReduce},
      {R"(gc_collect)", JobKind::kDefault},
  };
  return kRows;
}

}  // namespace pipetrace
