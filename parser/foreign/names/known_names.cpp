#include "parser/foreign/names/known_names.h"

#include <array>

#include "parser/foreign/names/kinds_file.h"
#include "parser/job_type.h"

namespace pipetrace {
namespace {

struct Word {
  const char* pattern;
  JobKind kind;
};

/// Words of known programs. Megatron-LM and MegatronApp: "forward-step", "send-forward".
/// ByteDance's straggler study: "forward-compute". torch.distributed.pipelining: "Forward 3",
/// "PP:1F3". PyTorch's own spans: "Optimizer.step#Adam.step", "nccl:all_reduce". Then DeepSpeed,
/// NCCL's kernels, HCCL's operators, and the runtimes' copies.
constexpr Word kWords[] = {
    {R"((?:## )?(?i:forward|fwd)(?:[-_ ](?:step|compute|pass|microbatch))?(?: ##)?)",
     JobKind::kForward},
    {R"((?:## )?(?i:backward|bwd)(?:[-_ ](?:step|compute|pass|microbatch))?(?: ##)?)",
     JobKind::kBackward},
    {R"((?i:forward|fwd)(?:[-_ ]step)?[-_ ](?P<micro_batch_id>[0-9]+))", JobKind::kForward},
    {R"((?i:backward|bwd)(?:[-_ ]step)?[-_ ](?P<micro_batch_id>[0-9]+))", JobKind::kBackward},
    {R"(PP:(?P<stage>[0-9]+)F(?P<micro_batch_id>[0-9]+))", JobKind::kForward},
    {R"(PP:(?P<stage>[0-9]+)B(?P<micro_batch_id>[0-9]+))", JobKind::kBackward},
    {R"(PP:(?P<stage>[0-9]+)I(?P<micro_batch_id>[0-9]+))", JobKind::kBackwardInput},
    {R"(PP:(?P<stage>[0-9]+)W(?P<micro_batch_id>[0-9]+))", JobKind::kBackwardWeight},
    {R"(PP:(?P<stage>[0-9]+)SEND_F(?P<micro_batch_id>[0-9]+))", JobKind::kSendForward},
    {R"(PP:(?P<stage>[0-9]+)RECV_F(?P<micro_batch_id>[0-9]+))", JobKind::kRecvForward},
    {R"(PP:(?P<stage>[0-9]+)SEND_B(?P<micro_batch_id>[0-9]+))", JobKind::kSendBackward},
    {R"(PP:(?P<stage>[0-9]+)RECV_B(?P<micro_batch_id>[0-9]+))", JobKind::kRecvBackward},
    {R"(DistributedDataParallel\.forward)", JobKind::kForward},
    {R"((?i:forward[-_ ]send|send[-_ ]forward))", JobKind::kSendForward},
    {R"((?i:forward[-_ ]recv|recv[-_ ]forward))", JobKind::kRecvForward},
    {R"((?i:backward[-_ ]send|send[-_ ]backward))", JobKind::kSendBackward},
    {R"((?i:backward[-_ ]recv|recv[-_ ]backward))", JobKind::kRecvBackward},
    {R"((?:## )?(?i:optimizer)(?:[-_ ]step)?(?: ##)?)", JobKind::kOptimizer},
    {R"(Optimizer\.step#.*)", JobKind::kOptimizer},
    {R"(gc)", JobKind::kDefault},
    // A norm over all ranks, then a multiplication.
    {R"(optimizer-clip-main-grad)", JobKind::kAllReduce},
    {R"((?:nccl:|hcom_|c10d::)?_?(?i:all[-_]?reduce)_*(?:_.*)?)", JobKind::kAllReduce},
    {R"((?:nccl:|hcom_|c10d::)?_?(?i:all[-_]?gather)_*(?:_.*)?)", JobKind::kAllGather},
    {R"((?:nccl:|hcom_|c10d::)?_?(?i:reduce[-_]?scatter)_*(?:_.*)?)", JobKind::kReduceScatter},
    {R"([\w-]+-(?:all-reduce|allreduce))", JobKind::kAllReduce},
    {R"([\w-]+-(?:all-gather|allgather))", JobKind::kAllGather},
    {R"([\w-]+-(?:reduce-scatter|reducescatter))", JobKind::kReduceScatter},
    {R"(nccl(?:Dev)?Kernel_?AllReduce.*)", JobKind::kAllReduce},
    {R"(nccl(?:Dev)?Kernel_?AllGather.*)", JobKind::kAllGather},
    {R"(nccl(?:Dev)?Kernel_?ReduceScatter.*)", JobKind::kReduceScatter},
    {R"((?:Memcpy|Memset) .*|MEMCPY_ASYNC|MEMCPY)", JobKind::kCopy},
};

JobName knownName(std::string_view name) {
  const JobType type = parseJobType(name);
  if (type.kind != JobKind::kOther) {
    JobName job;
    job.kind = type.kind;
    job.chunk = type.chunk;
    job.part = type.part;
    return job;
  }
  static const std::list<NamePattern> patterns = [] {
    std::list<NamePattern> list;
    for (const Word& word : kWords) list.emplace_back(word.pattern, word.kind);
    return list;
  }();
  for (const NamePattern& pattern : patterns) {
    if (const auto job = pattern.match(name)) return *job;
  }
  return {};
}

}  // namespace

const JobName& JobNames::operator[](std::string_view name) {
  const auto [found, isNew] = known_.try_emplace(std::string(name));
  if (!isNew || name.empty()) return found->second;
  std::optional<JobName> asked;
  if (asked_ != nullptr) asked = asked_->find(name);
  found->second = asked ? *asked : knownName(name);
  return found->second;
}

}  // namespace pipetrace
