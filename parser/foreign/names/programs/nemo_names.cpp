#include "parser/foreign/names/programs/programs.h"

namespace pipetrace {

/// Its own NVTX ranges and timers; the rest is Megatron's.
std::span<const NameRow> nemoNames() {
  using enum NameUse;
  static constexpr NameRow kRows[] = {
      // The closure runs the whole schedule.
      {R"(nemo\.core\.optim\.mcore_optim\.step\.closure)", JobKind::kOther, kAlways},
      {R"(nemo\.core\.optim\.mcore_optim\.step\.step)", JobKind::kOptimizer, kAlways},
      {R"(gradient_allreduce)", JobKind::kAllReduce, kAlways},
      {R"(allreduce_sequence_parallel_gradients)", JobKind::kAllReduce, kAlways},
      {R"(allreduce_first_last_embeddings)", JobKind::kAllReduce, kAlways},
  };
  return kRows;
}

}  // namespace pipetrace
