#include "parser/foreign/names/programs/programs.h"

namespace pipetrace {

/// Timers, NVTX ranges of functions (module and name), and spans of its telemetry. Where a call
/// sends and receives, the kind is that of the receive: the next job waits for it.
std::span<const NameRow> megatronNames() {
  using enum NameUse;
  static constexpr NameRow kRows[] = {
      {R"(megatron\.microbatch\.forward)", JobKind::kForward, kAlways},
      {R"(megatron\.microbatch\.backward)", JobKind::kBackward, kAlways},
      {R"(megatron\.(?:core\.pipeline_parallel\.p2p_communication|p2p)\.send_forward)",
       JobKind::kSendForward, kAlways},
      {R"(megatron\.(?:core\.pipeline_parallel\.p2p_communication|p2p)\.send_backward)",
       JobKind::kSendBackward, kAlways},
      {R"(megatron\.(?:core\.pipeline_parallel\.p2p_communication|p2p)\.recv_forward)",
       JobKind::kRecvForward, kAlways},
      {R"(megatron\.(?:core\.pipeline_parallel\.p2p_communication|p2p)\.recv_backward)",
       JobKind::kRecvBackward, kAlways},
      {R"(megatron\.core\.pipeline_parallel\.p2p_communication\.send_(?:forward|backward)_recv_forward)",
       JobKind::kRecvForward, kAlways},
      {R"(megatron\.core\.pipeline_parallel\.p2p_communication\.send_(?:forward|backward)_recv_backward)",
       JobKind::kRecvBackward, kAlways},
      {R"(megatron\.train\.iteration\.optimizer)", JobKind::kOptimizer, kAlways},
      {R"(megatron\.grad_sync\.finish)", JobKind::kAllReduce, kAlways},
      {R"(megatron\.train\.gc_collect)", JobKind::kDefault, kAlways},
      {R"((?:forward|backward)-send-forward-recv)", JobKind::kRecvForward, kAlways},
      {R"((?:forward|backward)-send-backward-recv)", JobKind::kRecvBackward, kAlways},
      {R"(optimizer-clip-main-grad)", JobKind::kAllReduce, kAlways},  // a norm over all ranks
      {R"(all-grads-sync)", JobKind::kAllReduce, kAlways},
      {R"(batch-generator|(?:\w+\.)*RerunDataIterator\.__next__)", JobKind::kData, kAlways},
      // The layers of the combined 1F1B schedule.
      {R"(layer_(?P<part>[0-9]+)f)", JobKind::kForward},
      {R"(layer_(?P<part>[0-9]+)b)", JobKind::kBackward},
      {R"(layer_[0-9]+f-layer_[0-9]+b)", JobKind::kForwardBackward},
      {R"(CustomFSDP\.forward|MFSDP <root> forward)", JobKind::kForward, kAlways},
      {R"(MFSDP <root> backward)", JobKind::kBackward, kAlways},
      {R"(.*\.(?:batched_)?gtp_ag)", JobKind::kAllGather},
      {R"(.*\.(?:batched_)?gtp_rs(?:_fp32accum)?)", JobKind::kReduceScatter},
  };
  return kRows;
}

}  // namespace pipetrace
