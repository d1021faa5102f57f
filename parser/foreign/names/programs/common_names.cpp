#include "parser/foreign/names/programs/programs.h"

namespace pipetrace {

/// Megatron-LM, MegatronApp and PaddlePaddle: "forward-step", "send_forward". ByteDance's straggler
/// study: "forward-compute", "gc". Then NCCL's kernels, HCCL's operators, and the runtimes' copies.
std::span<const NameRow> commonNames() {
  using enum NameUse;
  static constexpr NameRow kRows[] = {
      {R"((?:## )?(?i:forward|fwd)(?:[-_ ](?:step|compute|pass|microbatch))?(?: ##)?)",
       JobKind::kForward, kAlways},
      {R"((?:## )?(?i:backward|bwd)(?:[-_ ](?:step|compute|pass|microbatch))?(?: ##)?)",
       JobKind::kBackward, kAlways},
      {R"((?i:forward|fwd)(?:[-_ ]step)?[-_ ](?P<micro_batch_id>[0-9]+))", JobKind::kForward,
       kAlways},
      {R"((?i:backward|bwd)(?:[-_ ]step)?[-_ ](?P<micro_batch_id>[0-9]+))", JobKind::kBackward,
       kAlways},
      {R"((?i:forward[-_ ]send|send[-_ ]forward))", JobKind::kSendForward, kAlways},
      {R"((?i:forward[-_ ]recv|recv[-_ ]forward))", JobKind::kRecvForward, kAlways},
      {R"((?i:backward[-_ ]send|send[-_ ]backward))", JobKind::kSendBackward, kAlways},
      {R"((?i:backward[-_ ]recv|recv[-_ ]backward))", JobKind::kRecvBackward, kAlways},
      {R"((?:## )?(?i:optimizer)(?:[-_ ]step)?(?: ##)?)", JobKind::kOptimizer, kAlways},
      {R"(gc)", JobKind::kDefault, kAlways},
      {R"((?:nccl:|hcom_|c10d::)?_?(?i:all[-_]?reduce)_*(?:_.*)?)", JobKind::kAllReduce, kAlways},
      {R"((?:nccl:|hcom_|c10d::)?_?(?i:all[-_]?gather)_*(?:_.*)?)", JobKind::kAllGather, kAlways},
      {R"((?:nccl:|hcom_|c10d::)?_?(?i:reduce[-_]?scatter)_*(?:_.*)?)", JobKind::kReduceScatter,
       kAlways},
      {R"([\w-]+-(?:all-reduce|allreduce))", JobKind::kAllReduce, kAlways},
      {R"([\w-]+-(?:all-gather|allgather))", JobKind::kAllGather, kAlways},
      {R"([\w-]+-(?:reduce-scatter|reducescatter))", JobKind::kReduceScatter, kAlways},
      {R"(nccl(?:Dev)?Kernel_?AllReduce.*)", JobKind::kAllReduce, kAlways},
      {R"(nccl(?:Dev)?Kernel_?AllGather.*)", JobKind::kAllGather, kAlways},
      {R"(nccl(?:Dev)?Kernel_?ReduceScatter.*)", JobKind::kReduceScatter, kAlways},
      {R"(nccl(?:Dev)?Kernel_?Broadcast.*)", JobKind::kBroadcast, kAlways},
      {R"((?:Memcpy|Memset) .*|MEMCPY_ASYNC|MEMCPY)", JobKind::kCopy, kAlways},
  };
  return kRows;
}

}  // namespace pipetrace
