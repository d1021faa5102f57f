#include "parser/foreign/names/given_names.h"

#include <gmock/gmock.h>

#include <set>

namespace pipetrace {
namespace {

/// A name as the program writes it, and its meaning as the program's source shows it.
struct RealName {
  const char* name;
  JobName meaning;
};

JobName job(JobKind kind) { return {.kind = kind}; }
JobName ofMicroBatch(JobKind kind, std::int32_t microBatch) {
  return {.kind = kind, .microBatch = microBatch};
}
JobName ofStage(JobKind kind, std::int32_t stage, std::int32_t microBatch = kNotGiven) {
  return {.kind = kind, .microBatch = microBatch, .stage = stage};
}
JobName ofChunk(JobKind kind, std::int32_t microBatch, std::int16_t chunk) {
  return {.kind = kind, .microBatch = microBatch, .chunk = chunk};
}
JobName ofPart(JobKind kind, std::int16_t part) { return {.kind = kind, .part = part}; }

/// The meaning of a name with that preset: in it, else among the names that are always known.
JobName meaningOf(const char* name, const char* preset) {
  JobNames names(findNamePreset(preset));
  return names[name];
}

void expectMeanings(const char* preset, const std::vector<RealName>& table) {
  ASSERT_NE(findNamePreset(preset), nullptr);
  for (const auto& [name, meaning] : table) {
    const JobName found = meaningOf(name, preset);
    EXPECT_EQ(found, meaning) << name << ": " << logName(found.kind) << " stage " << found.stage
                              << " micro-batch " << found.microBatch << " chunk " << found.chunk;
  }
}

/// torch 2.11: _Action.__str__ with each of its types, the loops of the schedules of one stage,
/// FSDP, the optimizer, and the data loader.
const std::vector<RealName> kTorch = {
    {"PP:1F3", ofStage(JobKind::kForward, 1, 3)},
    {"PP:11B30", ofStage(JobKind::kBackward, 11, 30)},
    {"PP:0I2", ofStage(JobKind::kBackwardInput, 0, 2)},
    {"PP:0W2", ofStage(JobKind::kBackwardWeight, 0, 2)},
    {"PP:(0F7;7B3)OVERLAP_F_B", ofStage(JobKind::kForwardBackward, 0, 7)},
    {"PP:2SEND_F5", ofStage(JobKind::kSendForward, 2, 5)},
    {"PP:2RECV_F5", ofStage(JobKind::kRecvForward, 2, 5)},
    {"PP:2SEND_B5", ofStage(JobKind::kSendBackward, 2, 5)},
    {"PP:2RECV_B5", ofStage(JobKind::kRecvBackward, 2, 5)},
    {"gloo:broadcast", job(JobKind::kBroadcast)},
    {"gloo:all_to_all", job(JobKind::kAllToAll)},
    {"ncclDevKernel_Broadcast_RING_LL(ncclDevKernelArgsStorage<4096ul>)", job(JobKind::kBroadcast)},
    {"PP:3UNSHARD", ofStage(JobKind::kAllGather, 3)},
    {"PP:3REDUCE_GRAD", ofStage(JobKind::kReduceScatter, 3)},
    {"PP:3RESHARD", job(JobKind::kOther)},
    {"Forward 3", ofMicroBatch(JobKind::kForward, 3)},
    {"Backward 3", ofMicroBatch(JobKind::kBackward, 3)},
    {"DistributedDataParallel.forward", job(JobKind::kForward)},
    {"FullyShardedDataParallel.forward", job(JobKind::kForward)},
    {"FullyShardedDataParallel._pre_forward", job(JobKind::kOther)},
    {"Optimizer.step#AdamW.step", job(JobKind::kOptimizer)},
    {"Optimizer.zero_grad#AdamW.zero_grad", job(JobKind::kOther)},
    {"FSDP::all_gather (layers.0)", job(JobKind::kAllGather)},
    {"FSDP::all_gather_copy_out (layers.0)", job(JobKind::kOther)},
    {"FSDP::post_backward_reduce (layers.0)", job(JobKind::kReduceScatter)},
    {"enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", job(JobKind::kData)},
    {"nccl:_reduce_scatter_base", job(JobKind::kReduceScatter)},
    {"gloo:all_reduce", job(JobKind::kAllReduce)},
    {"ProfilerStep#7", job(JobKind::kOther)},
};

const std::vector<RealName> kMegatron = {
    {"forward-compute", job(JobKind::kForward)},
    {"backward-compute", job(JobKind::kBackward)},
    {"forward-backward", job(JobKind::kOther)},
    {"forward-recv", job(JobKind::kRecvForward)},
    {"backward-recv", job(JobKind::kRecvBackward)},
    {"forward-send", job(JobKind::kSendForward)},
    {"backward-send", job(JobKind::kSendBackward)},
    {"forward-send-backward-recv", job(JobKind::kRecvBackward)},
    {"backward-send-forward-recv", job(JobKind::kRecvForward)},
    {"forward-send-forward-recv", job(JobKind::kRecvForward)},
    {"backward-send-backward-recv", job(JobKind::kRecvBackward)},
    {"forward-backward-send-forward-backward-recv", job(JobKind::kOther)},
    {"optimizer", job(JobKind::kOptimizer)},
    {"optimizer-inner-step", job(JobKind::kOther)},
    {"optimizer-clip-main-grad", job(JobKind::kAllReduce)},
    {"all-grads-sync", job(JobKind::kAllReduce)},
    {"embedding-grads-all-reduce", job(JobKind::kAllReduce)},
    {"params-all-gather", job(JobKind::kAllGather)},
    {"batch-generator", job(JobKind::kData)},
    {"megatron.core.pipeline_parallel.p2p_communication.recv_forward", job(JobKind::kRecvForward)},
    {"megatron.core.pipeline_parallel.p2p_communication.send_backward",
     job(JobKind::kSendBackward)},
    {"megatron.core.pipeline_parallel.p2p_communication.send_forward_recv_backward",
     job(JobKind::kRecvBackward)},
    {"megatron.core.pipeline_parallel.p2p_communication.send_forward_backward_recv_forward_"
     "backward",
     job(JobKind::kOther)},
    {"megatron.core.transformer.attention.forward.qkv", job(JobKind::kOther)},
    {"layer_3f", ofPart(JobKind::kForward, 3)},
    {"layer_5b", ofPart(JobKind::kBackward, 5)},
    {"layer_3f-layer_5b", job(JobKind::kForwardBackward)},
    {"CustomFSDP.forward", job(JobKind::kForward)},
    {"MFSDP <root> backward", job(JobKind::kBackward)},
    {"MFSDP decoder.layers.0 forward", job(JobKind::kOther)},
    {"decoder.layers.0.mlp.linear_fc1.weight.fwd.async.gtp_ag", job(JobKind::kAllGather)},
    {"decoder.layers.0.mlp.linear_fc1.weight.bwd.async.batched_gtp_rs",
     job(JobKind::kReduceScatter)},
    {"megatron.microbatch.forward", job(JobKind::kForward)},
    {"megatron.microbatch.backward", job(JobKind::kBackward)},
    {"megatron.p2p.send_forward", job(JobKind::kSendForward)},
    {"megatron.p2p.recv_backward", job(JobKind::kRecvBackward)},
    {"megatron.grad_sync.finish", job(JobKind::kAllReduce)},
    {"megatron.train.iteration.optimizer", job(JobKind::kOptimizer)},
    {"megatron.train.iteration.forward_backward", job(JobKind::kOther)},
    {"megatron.train.gc_collect", job(JobKind::kDefault)},
};

const std::vector<RealName> kDeepspeed = {
    {"fwd_microstep", job(JobKind::kForward)},
    {"fwd", job(JobKind::kForward)},
    {"bwd_microstep", job(JobKind::kBackward)},
    {"bwd", job(JobKind::kBackward)},
    {"bwd_inner_microstep", job(JobKind::kOther)},
    {"bwd_inner", job(JobKind::kOther)},
    {"bwd_allreduce_microstep", job(JobKind::kAllReduce)},
    {"bwd_allreduce", job(JobKind::kAllReduce)},
    {"step_microstep", job(JobKind::kOptimizer)},
    {"step", job(JobKind::kOptimizer)},
    {"optimizer_step", job(JobKind::kOptimizer)},
    {"optimizer_allgather", job(JobKind::kAllGather)},
    {"batch_input", job(JobKind::kData)},
    {"train_batch", job(JobKind::kOther)},
    {"pipe_send_output", job(JobKind::kSendForward)},
    {"pipe_recv_input", job(JobKind::kRecvForward)},
    {"pipe_send_grad", job(JobKind::kSendBackward)},
    {"pipe_recv_grad", job(JobKind::kRecvBackward)},
    {"DeepSpeedEngine.forward", job(JobKind::kForward)},
    {"DeepSpeedEngine.backward", job(JobKind::kBackward)},
    {"DeepSpeedEngine.allreduce_gradients", job(JobKind::kAllReduce)},
    {"DeepSpeedZeroOptimizer_Stage3.step", job(JobKind::kOptimizer)},
    {"DeepSpeedZeroOptimizer_Stage3.__reduce_and_partition_ipg_grads",
     job(JobKind::kReduceScatter)},
    {"PartitionedParameterCoordinator.__all_gather_params", job(JobKind::kAllGather)},
    {"PartitionedParameterCoordinator.fetch_sub_module", job(JobKind::kOther)},
    {"reduce_scatter_coalesced", job(JobKind::kReduceScatter)},
};

const std::vector<RealName> kTorchtitan = {
    {"fwd_bwd", job(JobKind::kOther)},
    {"forward_backward", job(JobKind::kOther)},
    {"step", job(JobKind::kOther)},
    {"model_forward", job(JobKind::kForward)},
    {"model_backward", job(JobKind::kBackward)},
    {"optim", job(JobKind::kOptimizer)},
    {"fetching_batch", job(JobKind::kData)},
    {"post_dataloading_process", job(JobKind::kData)},
    {"collect_dist_metrics", job(JobKind::kAllReduce)},
    {"gc_collect", job(JobKind::kDefault)},
    {"checkpoint_save", job(JobKind::kOther)},
    // Names that torch writes into its profiles.
    {"PP:1I3", ofStage(JobKind::kBackwardInput, 1, 3)},
    {"FullyShardedDataParallel.forward", job(JobKind::kForward)},
};

const std::vector<RealName> kPaddle = {
    {"F3", ofMicroBatch(JobKind::kForward, 3)},
    {"B12", ofMicroBatch(JobKind::kBackward, 12)},
    {"F3_VP1", ofChunk(JobKind::kForward, 3, 1)},
    {"B0_VP0", ofChunk(JobKind::kBackward, 0, 0)},
    {"F_3", job(JobKind::kOther)},  // the number is that of a job
    {"forward_step", job(JobKind::kForward)},
    {"backward_step", job(JobKind::kBackward)},
    {"recv_forward", job(JobKind::kRecvForward)},
    {"send_backward", job(JobKind::kSendBackward)},
    {"send_forward_recv_backward", job(JobKind::kRecvBackward)},
    {"send_backward_recv_forward", job(JobKind::kRecvForward)},
    {"send_forward_recv_forward", job(JobKind::kRecvForward)},
    {"send_backward_recv_backward", job(JobKind::kRecvBackward)},
    {"send_forward_backward_recv_forward_backward", job(JobKind::kOther)},
    {"allreduce_shared_weight_gradients", job(JobKind::kAllReduce)},
    {"broadcast_final_loss", job(JobKind::kOther)},
    {"Gradient Backward", job(JobKind::kBackward)},
    {"Optimization Step", job(JobKind::kOptimizer)},
};

const std::vector<RealName> kNemo = {
    {"nemo.core.optim.mcore_optim.step.closure", job(JobKind::kOther)},
    {"nemo.core.optim.mcore_optim.step.step", job(JobKind::kOptimizer)},
    {"optimizer", job(JobKind::kOptimizer)},
    {"gradient_allreduce", job(JobKind::kAllReduce)},
    {"allreduce_sequence_parallel_gradients", job(JobKind::kAllReduce)},
    {"allreduce_first_last_embeddings", job(JobKind::kAllReduce)},
    // Names that Megatron writes into NeMo's profiles.
    {"layer_0f", ofPart(JobKind::kForward, 0)},
    {"megatron.core.pipeline_parallel.p2p_communication.recv_backward",
     job(JobKind::kRecvBackward)},
};

TEST(NamePresetTest, TorchsNamesHaveTheirKindsStagesAndMicroBatches) {
  expectMeanings("torch", kTorch);
}
TEST(NamePresetTest, MegatronsNamesHaveTheirKinds) { expectMeanings("megatron", kMegatron); }
TEST(NamePresetTest, DeepspeedsNamesHaveTheirKinds) { expectMeanings("deepspeed", kDeepspeed); }
TEST(NamePresetTest, TorchtitansNamesAreItsOwnAndTorchs) {
  expectMeanings("torchtitan", kTorchtitan);
}
TEST(NamePresetTest, PaddlesNamesHaveTheirKindsMicroBatchesAndChunks) {
  expectMeanings("paddle", kPaddle);
}
TEST(NamePresetTest, NemosNamesAreItsOwnAndMegatrons) { expectMeanings("nemo", kNemo); }

TEST(NamePresetTest, EachProgramHasATable) {
  EXPECT_THAT(namePresets(), testing::ElementsAre("torch", "megatron", "deepspeed", "torchtitan",
                                                  "paddle", "nemo"));
  EXPECT_EQ(findNamePreset("Torch"), nullptr);
  EXPECT_EQ(findNamePreset(""), nullptr);
}

TEST(NamePresetTest, EveryRowIsAnExpressionThatCanBeUsed) {
  std::vector<std::span<const NameRow>> tables = {commonNames()};
  for (const TracedProgram& program : kTracedPrograms) tables.push_back(program.names());
  for (const auto& table : tables) {
    for (const NameRow& row : table) {
      EXPECT_EQ(NamePattern(row.pattern, row.kind).fault(), "") << row.pattern;
    }
  }
}

TEST(NamePresetTest, NamesThatAreKnownWithoutAPresetMeanTheSameWithEveryPreset) {
  JobNames always(nullptr);
  for (const auto* table : {&kTorch, &kMegatron, &kDeepspeed, &kPaddle, &kNemo}) {
    for (const auto& [name, meaning] : *table) {
      const JobName known = always[name];
      if (known.kind == JobKind::kOther) continue;
      for (const std::string& preset : namePresets()) {
        EXPECT_EQ(meaningOf(name, preset.c_str()), known) << name << " with " << preset;
      }
    }
  }
}

TEST(NamePresetTest, AmbiguousNamesNeedTheirPreset) {
  JobNames names(nullptr);
  for (const char* name : {"F3", "B3", "F3_VP1", "step", "optim", "layer_3f", "layer_3f-layer_5b",
                           "Gradient Backward", "batch_input", "model_forward"}) {
    EXPECT_EQ(names[name].kind, JobKind::kOther) << name;
  }
}

TEST(NamePresetTest, UnambiguousNamesNeedNoPreset) {
  JobNames names(nullptr);
  EXPECT_EQ(names["DeepSpeedEngine.backward"].kind, JobKind::kBackward);
  EXPECT_EQ(names["pipe_recv_grad"].kind, JobKind::kRecvBackward);
  EXPECT_EQ(names["megatron.microbatch.forward"].kind, JobKind::kForward);
  EXPECT_EQ(names["nemo.core.optim.mcore_optim.step.step"].kind, JobKind::kOptimizer);
  EXPECT_EQ(names["PP:(0F7;7B3)OVERLAP_F_B"], ofStage(JobKind::kForwardBackward, 0, 7));
  for (const char* name : {"enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
                           "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__",
                           "DataLoader.__next__", "torch.utils.data.DataLoader.__next__",
                           "ParallelAwareDataloader.__next__", "RerunDataIterator.__next__",
                           "batch-generator", "fetching_batch", "post_dataloading_process"}) {
    EXPECT_EQ(names[name].kind, JobKind::kData) << name;
  }
}

}  // namespace
}  // namespace pipetrace
