#include "parser/foreign/names/programs/programs.h"

namespace pipetrace {

/// Timers of the engine and of its pipeline, and NVTX ranges of functions (class and name).
std::span<const NameRow> deepspeedNames() {
  using enum NameUse;
  static constexpr NameRow kRows[] = {
      {R"(fwd_microstep)", JobKind::kForward, kAlways},
      {R"(bwd_microstep)", JobKind::kBackward, kAlways},
      // Timers for a step's sum, which run with those of the micro-batch.
      {R"(fwd)", JobKind::kForward},
      {R"(bwd)", JobKind::kBackward},
      // A part of bwd_microstep.
      {R"(bwd_inner(?:_microstep)?)", JobKind::kOther},
      {R"(bwd_allreduce(?:_microstep)?)", JobKind::kAllReduce, kAlways},
      {R"(step_microstep)", JobKind::kOptimizer, kAlways},
      {R"(step)", JobKind::kOptimizer},
      {R"(batch_input)", JobKind::kData},
      {R"(pipe_send_output)", JobKind::kSendForward, kAlways},
      {R"(pipe_recv_input)", JobKind::kRecvForward, kAlways},
      {R"(pipe_send_grad)", JobKind::kSendBackward, kAlways},
      {R"(pipe_recv_grad)", JobKind::kRecvBackward, kAlways},
      {R"(optimizer_allgather)", JobKind::kAllGather, kAlways},
      {R"(DeepSpeedEngine\.forward)", JobKind::kForward, kAlways},
      {R"(DeepSpeedEngine\.backward)", JobKind::kBackward, kAlways},
      {R"(DeepSpeedEngine\.allreduce_gradients)", JobKind::kAllReduce, kAlways},
      {R"((?:DeepSpeedZeroOptimizer_Stage3|SuperOffloadOptimizer_Stage3)\.step)",
       JobKind::kOptimizer, kAlways},
      {R"(DeepSpeedZeroOptimizer_Stage3\.__reduce_and_partition_ipg_grads)",
       JobKind::kReduceScatter, kAlways},
      {R"(PartitionedParameterCoordinator\.__all_gather_params)", JobKind::kAllGather, kAlways},
  };
  return kRows;
}

}  // namespace pipetrace
