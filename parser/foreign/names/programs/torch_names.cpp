#include "parser/foreign/names/programs/programs.h"

namespace pipetrace {

/// torch.distributed.pipelining, data parallelism, the optimizer, and the data loader.
std::span<const NameRow> torchNames() {
  using enum NameUse;
  static constexpr NameRow kRows[] = {
      {R"(PP:(?P<stage>[0-9]+)F(?P<micro_batch_id>[0-9]+))", JobKind::kForward, kAlways},
      {R"(PP:(?P<stage>[0-9]+)B(?P<micro_batch_id>[0-9]+))", JobKind::kBackward, kAlways},
      {R"(PP:(?P<stage>[0-9]+)I(?P<micro_batch_id>[0-9]+))", JobKind::kBackwardInput, kAlways},
      {R"(PP:(?P<stage>[0-9]+)W(?P<micro_batch_id>[0-9]+))", JobKind::kBackwardWeight, kAlways},
      // The numbers of a fused pair are its forward's.
      {R"(PP:\((?P<stage>[0-9]+)F(?P<micro_batch_id>[0-9]+);[0-9]+B[0-9]+\)OVERLAP_F_B)",
       JobKind::kForwardBackward, kAlways},
      {R"(PP:(?P<stage>[0-9]+)SEND_F(?P<micro_batch_id>[0-9]+))", JobKind::kSendForward, kAlways},
      {R"(PP:(?P<stage>[0-9]+)RECV_F(?P<micro_batch_id>[0-9]+))", JobKind::kRecvForward, kAlways},
      {R"(PP:(?P<stage>[0-9]+)SEND_B(?P<micro_batch_id>[0-9]+))", JobKind::kSendBackward, kAlways},
      {R"(PP:(?P<stage>[0-9]+)RECV_B(?P<micro_batch_id>[0-9]+))", JobKind::kRecvBackward, kAlways},
      {R"(PP:(?P<stage>[0-9]+)UNSHARD)", JobKind::kAllGather, kAlways},
      {R"(PP:(?P<stage>[0-9]+)REDUCE_GRAD)", JobKind::kReduceScatter, kAlways},
      {R"(Forward (?P<micro_batch_id>[0-9]+))", JobKind::kForward, kAlways},
      {R"(Backward (?P<micro_batch_id>[0-9]+))", JobKind::kBackward, kAlways},
      {R"(DistributedDataParallel\.forward)", JobKind::kForward, kAlways},
      {R"(Optimizer\.step#.*)", JobKind::kOptimizer, kAlways},
      // One inside the other, where a model is wrapped in parts.
      {R"((?:FullyShardedDataParallel|DataParallel)\.forward)", JobKind::kForward},
      {R"(FSDP::all_gather(?: \(.*\))?)", JobKind::kAllGather, kAlways},
      {R"(FSDP::post_backward_reduce(?: \(.*\))?)", JobKind::kReduceScatter, kAlways},
      {R"(enumerate\(DataLoader\)#.*|(?:\w+\.)*\w*Data[Ll]oader(?:Iter)?\.__next__)",
       JobKind::kData, kAlways},
      {R"(gloo:(?:sparse_)?all_reduce)", JobKind::kAllReduce, kAlways},
      {R"(gloo:all_gather)", JobKind::kAllGather, kAlways},
      {R"(gloo:all_to_all)", JobKind::kAllToAll, kAlways},
      {R"(gloo:broadcast)", JobKind::kBroadcast, kAlways},
  };
  return kRows;
}

}  // namespace pipetrace
