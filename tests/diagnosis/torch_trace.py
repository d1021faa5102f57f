"""What traces of torch.profiler on GPUs and on CPUs have in common: names, groups and events."""

import gzip
import itertools
import json
import os

import on_gpus

FIRST_NS = 4458676000000000  # the time 0 of the recording
BASE_NS = 1750000000000000000
STEP_HEAD = 2000  # from the begin of ProfilerStep# to the first call in it
LOADER = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"
SAVER = "save_checkpoint"
OPTIMIZER = "Optimizer.step#AdamW.step"
FUNCTION = "autograd::engine::evaluate_function: "
ACCUMULATE = "torch::autograd::AccumulateGrad"

# Layers of a stage, in the order of on_gpus.SHARES: operator, its inner one, its backward, the
# operator in that; then the kernels of both.
LAYERS = (
    (
        "aten::linear",
        "aten::addmm",
        "AddmmBackward0",
        "aten::mm",
        "nvjet_tst_128x256_64x4_2x1_v_bz_TNT",
        "nvjet_tst_256x128_64x4_1x2_h_bz_NNT",
    ),
    (
        "aten::scaled_dot_product_attention",
        "aten::_scaled_dot_product_flash_attention",
        "ScaledDotProductFlashAttentionBackward0",
        "aten::_scaled_dot_product_flash_attention_backward",
        "void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, 64, 4, false, "
        "false, cutlass::bfloat16_t>>(pytorch_flash::Flash_fwd_params)",
        "void pytorch_flash::flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<Flash_bwd_kernel_traits"
        "<128, 64, 128, 8, 2, 4, 2, false, false, cutlass::bfloat16_t>>"
        "(pytorch_flash::Flash_bwd_params)",
    ),
    (
        "aten::gelu",
        None,
        "GeluBackward0",
        "aten::gelu_backward",
        "void at::native::vectorized_elementwise_kernel<4, at::native::GeluCUDAKernelImpl>",
        "void at::native::vectorized_elementwise_kernel<4, at::native::GeluBackwardCUDAKernelImpl>",
    ),
    (
        "aten::layer_norm",
        "aten::native_layer_norm",
        "NativeLayerNormBackward0",
        "aten::native_layer_norm_backward",
        "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel"
        "<c10::BFloat16, float>",
        "void at::native::(anonymous namespace)::layer_norm_grad_input_kernel_vectorized"
        "<c10::BFloat16, float>",
    ),
)
ADAM = (
    "void at::native::(anonymous namespace)::multi_tensor_apply_kernel"
    "<at::native::(anonymous namespace)::FusedOptimizerTensorListMetadata<4>>"
)
SEND_RECV = "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)"
COMPUTE_ARGS = (
    '"queued":0,"device":%d,"context":1,"stream":7,"correlation":%d,"registers per thread":168,'
    '"shared memory":213248,"blocks per SM":1.939394,"warps per SM":23.272728,"grid":[16,16,1],'
    '"block":[384,1,1],"est. achieved occupancy %%":18'
)
NCCL_ARGS = (
    '"queued":0,"device":%d,"context":1,"stream":%d,"correlation":%d,"registers per thread":96,'
    '"shared memory":82240,"blocks per SM":0.030303,"warps per SM":0.606061,"grid":[4,1,1],'
    '"block":[640,1,1],"est. achieved occupancy %%":0'
)
# Kind of collective: operator, annotation, collective name, kernel.
COLLECTIVES = {
    "all_reduce": ("c10d::allreduce_", "all_reduce", "allreduce", "AllReduce_Sum_f32_RING_LL"),
    "all_gather": (
        "c10d::_allgather_base_",
        "_all_gather_base",
        "_allgather_base",
        "AllGather_RING_LL",
    ),
    "reduce_scatter": (
        "c10d::_reduce_scatter_base_",
        "_reduce_scatter_base",
        "_reduce_scatter_base",
        "ReduceScatter_Sum_f32_RING_LL",
    ),
}


def us(time_ns):
    return f"{time_ns // 1000}.{time_ns % 1000:03d}"


def layers_of(job):
    return LAYERS[: len(on_gpus.shares_of(job))]


def name_of(job):
    return f"PP:{job.stage}{job.letter}{job.micro_batch}"


def name_of_message(kind, message):
    stage = message.stage if kind == "send" else message.to_stage
    return f"PP:{stage}{kind.upper()}_{message.direction}{message.micro_batch}"


class Groups:
    """The process groups of a run, as a rank knows them."""

    def __init__(self, recording, rank, backend):
        world, case = recording.world, recording.case
        positions, replicas = case["positions"], case["replicas"]
        position, replica = divmod(rank, replicas)
        self.rank = rank
        self.known = [("0", "default_pg", list(range(world)))]
        self.count = 1
        if replicas > 1:
            pipeline = list(range(replica, world, replicas))
            stage = list(range(position * replicas, (position + 1) * replicas))
            self.known.append((str(1 + replica), "mesh_pp", pipeline))
            self.known.append((str(1 + replicas + position), "mesh_dp_replicate", stage))
            self.count += replicas + positions
        self.backend = backend
        self.texts = [
            f'"Process Group Name":"{name}","Process Group Description":"{use}",'
            f'"Process Group Ranks":"{ranks}"'
            for name, use, ranks in self.known
        ]

    def info(self):
        config = "cuda:nccl" if self.backend == "nccl" else "cpu:gloo,cuda:gloo"
        info = {
            "backend": self.backend,
            "rank": self.rank,
            "world_size": len(self.known[0][2]),
            "pg_count": self.count,
            "pg_config": [
                {
                    "pg_name": name,
                    "pg_desc": use,
                    "backend_config": config,
                    "pg_size": len(ranks),
                    "ranks": ranks,
                }
                for name, use, ranks in self.known
            ],
        }
        if self.backend == "nccl":
            info["nccl_version"] = "2.27.5"
        return info

    @property
    def pipeline(self):
        return 1 if len(self.known) > 1 else 0

    def of(self, collective):
        return 2 if collective.use == "gradients" and len(self.known) > 1 else 0


class Trace:
    """The events of a rank, and what both devices have in common."""

    def __init__(self, recording, rank, annotated):
        self.recording, self.rank, self.annotated = recording, rank, annotated
        self.jobs = recording.jobs[rank]
        case = recording.case
        self.shows_loading = annotated and case.get("records_loading", True)
        self.shows_saving = annotated and case.get("records_checkpoints", True)
        self.shift = FIRST_NS + recording.clocks[rank]
        self.pid = 40960 + 7 * rank
        self.ids = itertools.count(1)
        self.id = 0
        self.arrows = itertools.count(1)
        self.sequence = 1000
        self.of_forward = {}  # the first sequence number of (step, stage, micro-batch)
        self.arrow_of = {}  # sequence number -> its arrow, until a backward has taken it
        self.events = []

    def op(self, name, thread, begin, end, more="", cat="cpu_op"):
        """Something that the host does. Gives its External id in `self.id`."""
        self.id = number = next(self.ids)
        self.events.append(
            f'{{"ph":"X","cat":"{cat}","name":"{name}","pid":{self.pid},"tid":{thread},'
            f'"ts":{us(begin + self.shift)},"dur":{us(end - begin)},"args":{{'
            f'"External id":{number},"Record function id":{number}{more},"Ev Idx":{number - 1}}}}}'
        )

    def annotation(self, name, thread, begin, end):
        self.op(name, thread, begin, end, "", "user_annotation")

    def arrow_begins(self, sequence, thread, time):
        number = self.arrow_of[sequence] = next(self.arrows)
        self.events.append(
            f'{{"ph":"s","id":{number},"pid":{self.pid},"tid":{thread},'
            f'"ts":{us(time + self.shift)},"cat":"fwdbwd","name":"fwdbwd"}}'
        )

    def arrow_ends(self, sequence, thread, time):
        number = self.arrow_of.pop(sequence, None)
        if number is not None:
            self.events.append(
                f'{{"ph":"f","id":{number},"pid":{self.pid},"tid":{thread},'
                f'"ts":{us(time + self.shift)},"cat":"fwdbwd","name":"fwdbwd","bp":"e"}}'
            )

    def begin_forward(self, job):
        self.of_forward[(job.step, job.stage, job.micro_batch)] = self.sequence

    def sequences_of(self, job):
        """The sequence numbers of the layers of a job: where they begin, in the order of layers. A
        linear layer has two of them."""
        first = self.of_forward[(job.step, job.stage, job.micro_batch)]
        found = []
        for layer in layers_of(job):
            found.append(first)
            first += 2 if layer is LAYERS[0] else 1
        return found

    def steps(self, begins, end):
        for step, begin in begins.items():
            until = begins.get(step + 1, end)
            self.annotation(f"ProfilerStep#{step}", self.pid, begin, until)

    def name_thread(self, process, thread, name, sort):
        time = us(self.shift)
        self.events.append(
            f'{{"name":"thread_name","ph":"M","ts":{time},"pid":{process},"tid":{thread},'
            f'"args":{{"name":"{name}"}}}},{{"name":"thread_sort_index","ph":"M","ts":{time},'
            f'"pid":{process},"tid":{thread},"args":{{"sort_index":{sort}}}}}'
        )

    def name_process(self, process, name, label, sort):
        for key, value in (
            ("process_name", f'"name":"{name}"'),
            ("process_labels", f'"labels":"{label}"'),
            ("process_sort_index", f'"sort_index":{sort}'),
        ):
            self.events.append(
                f'{{"name":"{key}","ph":"M","ts":{us(self.shift)},"pid":{process},"tid":0,'
                f'"args":{{{value}}}}}'
            )

    def save_as(self, folder, devices, groups):
        end = max(job.end for job in self.jobs) + 100_000
        first = us(self.shift - 50_000)
        self.events.append(
            f'{{"ph":"X","cat":"Trace","ts":{first},"dur":{us(end + 50_000)},"pid":"Spans",'
            f'"tid":"PyTorch Profiler","name":"PyTorch Profiler (0)","args":{{"Op count":0}}}},'
            f'{{"name":"Iteration Start: PyTorch Profiler","ph":"i","s":"g","pid":"Traces",'
            f'"tid":"Trace PyTorch Profiler","ts":{first}}},'
            f'{{"name":"Record Window End","ph":"i","s":"g","pid":"","tid":"",'
            f'"ts":{us(end + self.shift)}}}'
        )
        name = f"rank{self.rank}.pt.trace.json"
        text = (
            f'{{"schemaVersion":1,"deviceProperties":{json.dumps(devices)},'
            f'"distributedInfo":{json.dumps(groups.info())},"displayTimeUnit":"ms",'
            f'"baseTimeNanoseconds":{BASE_NS},"traceEvents":[{",".join(self.events)}],'
            f'"traceName":"{name}"}}'
        )
        with open(os.path.join(folder, name + ".gz"), "wb") as file:
            file.write(gzip.compress(text.encode(), 1, mtime=0))
