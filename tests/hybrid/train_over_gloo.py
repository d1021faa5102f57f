"""A small real training of four ranks on processors, which real_trainings.py starts.

    train_over_gloo.py OPTIONS OUT

OPTIONS is JSON, as real_trainings.py draws it. Rank R writes OUT/traces/rank<R>.json.gz, the trace
of torch.profiler, and OUT/own<R>.json, what each of its stages computed itself in the recorded
steps: {"stage": seconds}. That is the time of its sleeps, and the processor time of its thread in
the rest of its jobs; what a job waits for others is not in it.

A layer has matrices that are split over the ranks of its stage (TP), or whose weights are (FSDP2).
Between them stands what its device would compute: a sleep of `layer_ms` forward, and of twice that
backward. So ranks do not wait for a processor where they have few.
"""

import contextlib
import json
import multiprocessing.connection
import os
import sys
import time

import torch
import torch.distributed as dist
from torch.profiler import ProfilerActivity, profile, record_function, schedule

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "tools"))

from record_torch_pipeline import free_port

RANKS = 4
PIPELINE_RANKS = 2
WAIT, WARM_UP = 1, 1  # steps before the recorded ones
ROWS, WIDTH = 4, 32  # of a micro-batch
SEQUENCE, WORDS = 16, 64  # of Megatron's


class Work:
    """What this rank computes, how long it takes, and how long it took."""

    def __init__(self, options, rank):
        self.options = options
        self.fault = options["fault"]
        self.rank = rank
        self.slept = 0.0
        self.own = {}  # by stage
        self.is_recorded = False

    def layer_seconds(self, stage):
        slow_rank = self.fault["kind"] == "slow_rank" and self.fault["rank"] == self.rank
        slow_stage = self.fault["kind"] == "slow_stage" and stage in self.fault["stages"]
        factor = self.fault["factor"] if slow_rank or slow_stage else 1
        return factor * self.options["layer_ms"] / 1000

    def load(self):
        """Waits for a batch."""
        if self.fault["kind"] == "slow_loader" and self.fault["rank"] == self.rank:
            time.sleep(self.fault["ms"] / 1000)

    def sleep(self, seconds):
        begin = time.perf_counter()
        time.sleep(seconds)
        self.slept += time.perf_counter() - begin

    @contextlib.contextmanager
    def job(self, kind, stage, micro_batch):
        """Around each forward and backward of a stage."""
        slept, processor = self.slept, time.thread_time()
        name = f"PP:{stage}{kind}{micro_batch}"
        is_named = self.options["annotated"]
        with record_function(name) if is_named else contextlib.nullcontext():
            yield
        if self.is_recorded:
            took = self.slept - slept + time.thread_time() - processor
            self.own[stage] = self.own.get(stage, 0.0) + took

    def device(self, stage):
        """A function that is an identity, and takes the time of a layer."""
        sleep, seconds = self.sleep, lambda: self.layer_seconds(stage)

        class Device(torch.autograd.Function):
            @staticmethod
            def forward(_, x):
                sleep(seconds())
                return x.clone()

            @staticmethod
            def backward(_, gradient):
                sleep(2 * seconds())
                return gradient.clone()

        return Device.apply


class Batches(torch.utils.data.IterableDataset):
    """Batches from a disk that may be slow."""

    def __init__(self, make, load, seed):
        self.make, self.load, self.seed = make, load, seed

    def __iter__(self):
        generator = torch.Generator().manual_seed(self.seed)
        while True:
            self.load()
            yield self.make(generator)


def loader(make, load, seed):
    return iter(torch.utils.data.DataLoader(Batches(make, load, seed), batch_size=None))


def torch_training(work):
    """Returns a function that trains a step with torch.distributed.pipelining."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard
    from torch.distributed.pipelining import PipelineStage
    from torch.distributed.pipelining.schedules import PipelineScheduleMulti, get_schedule_class
    from torch.distributed.tensor.parallel import (
        ColwiseParallel,
        RowwiseParallel,
        parallelize_module,
    )

    options = work.options
    has_data_ranks = options["inner"] == "fsdp"
    positions = options.get("positions", PIPELINE_RANKS)
    mesh = init_device_mesh(
        "cpu",
        (positions, RANKS // positions),
        mesh_dim_names=("pp", "dp_shard" if has_data_ranks else "tp"),
    )
    pipeline, inner = mesh["pp"], mesh[mesh.mesh_dim_names[1]]
    count = positions * options["chunks"]

    class Layer(torch.nn.Module):
        def __init__(self, stage):
            super().__init__()
            self.norm = torch.nn.LayerNorm(WIDTH)
            self.grow = torch.nn.Linear(WIDTH, 4 * WIDTH)
            self.shrink = torch.nn.Linear(4 * WIDTH, WIDTH)
            self.device = work.device(stage)

        def forward(self, x):
            return x + self.shrink(self.device(torch.relu(self.grow(self.norm(x)))))

    class Stage(PipelineStage):
        def forward_one_chunk(self, micro_batch, *args, **kwargs):
            with work.job("F", self.stage_index, micro_batch):
                return super().forward_one_chunk(micro_batch, *args, **kwargs)

        def backward_one_chunk(self, micro_batch, *args, **kwargs):
            with work.job("B", self.stage_index, micro_batch):
                return super().backward_one_chunk(micro_batch, *args, **kwargs)

    def stage_of(number):
        torch.manual_seed(number)
        layers = [Layer(number) for _ in range(options["layers"] // count)]
        module = torch.nn.Sequential(*layers)
        if options["inner"] == "tp":
            for layer in layers:
                split = {"grow": ColwiseParallel(), "shrink": RowwiseParallel()}
                parallelize_module(layer, inner, split)
        elif has_data_ranks:
            for part in (*layers, module):
                fully_shard(part, mesh=inner, reshard_after_forward=options["reshard"])
        return Stage(module, number, count, torch.device("cpu"), group=pipeline.get_group())

    position = pipeline.get_local_rank()
    stages = [stage_of(position + chunk * positions) for chunk in range(options["chunks"])]
    kind = get_schedule_class(options["schedule"])
    run = kind(
        stages if issubclass(kind, PipelineScheduleMulti) else stages[0],
        options["micro_batches"],
        loss_fn=torch.nn.functional.mse_loss,
    )
    weights = [weight for stage in stages for weight in stage.submod.parameters()]
    optimizer = torch.optim.SGD(weights, lr=0.01, foreach=False)
    rows = ROWS * options["micro_batches"]
    batches = loader(
        lambda generator: torch.randn(rows, WIDTH, generator=generator),
        work.load,
        inner.get_local_rank() if has_data_ranks else 0,
    )

    def step():
        optimizer.zero_grad()
        batch = next(batches)
        run.step(*((batch,) if position == 0 else ()), target=batch if position > 0 else None)
        optimizer.step()

    return step


def megatron_training(work):
    """Returns a function that trains a step of Megatron-core's GPT with its own schedules."""
    from record_megatron_combined import without_cuda

    without_cuda()
    from megatron.core import parallel_state
    from megatron.core.models.gpt.gpt_layer_specs import get_gpt_layer_local_spec
    from megatron.core.models.gpt.gpt_model import GPTModel
    from megatron.core.pipeline_parallel import get_forward_backward_func, schedules
    from megatron.core.tensor_parallel import random
    from megatron.core.transformer.transformer_config import TransformerConfig

    random.CudaRNGStatesTracker.fork = lambda *_, **__: contextlib.nullcontext()
    options = work.options
    chunks = options["chunks"] if options["chunks"] > 1 else None
    positions = options.get("positions", PIPELINE_RANKS)
    parallel_state.initialize_model_parallel(
        RANKS // positions,
        positions,
        virtual_pipeline_model_parallel_size=chunks,
    )
    position = parallel_state.get_pipeline_model_parallel_rank()
    peers = parallel_state.get_tensor_model_parallel_group()

    def stage_of(chunk):
        return (chunk or 0) * positions + position

    def model_of(chunk):
        stage = stage_of(chunk)
        device = work.device(stage)
        config = TransformerConfig(
            num_layers=options["layers"],
            hidden_size=WIDTH,
            num_attention_heads=4,
            activation_func=lambda x: device(torch.nn.functional.gelu(x)),
            use_cpu_initialization=True,
            pipeline_dtype=torch.float32,
            tensor_model_parallel_size=dist.get_world_size(peers),
            pipeline_model_parallel_size=positions,
            virtual_pipeline_model_parallel_size=chunks,
            hidden_dropout=0.0,
            attention_dropout=0.0,
            gradient_accumulation_fusion=False,
            bias_dropout_fusion=False,
            masked_softmax_fusion=False,
            persist_layer_norm=False,
            deallocate_pipeline_outputs=False,
            batch_p2p_comm=True,
            overlap_p2p_comm=False,
        )
        return GPTModel(
            config,
            get_gpt_layer_local_spec(),
            vocab_size=WORDS,
            max_sequence_length=SEQUENCE,
            pre_process=stage == 0,
            post_process=stage == positions * options["chunks"] - 1,
            vp_stage=chunk,
        )

    run_forward, run_backward = schedules.forward_step, schedules.backward_step
    jobs = {}  # by the output's identity: its stage and micro-batch

    def forward_step(*args, **kwargs):
        job = stage_of(kwargs.get("vp_stage")), kwargs["current_microbatch"]
        with work.job("F", *job):
            result = run_forward(*args, **kwargs)
        jobs[id(result[0])] = job
        return result

    def backward_step(tensor, output, *args, **kwargs):
        with work.job("B", *jobs.pop(id(output))):
            return run_backward(tensor, output, *args, **kwargs)

    schedules.forward_step, schedules.backward_step = forward_step, backward_step

    torch.manual_seed(1)
    models = [model_of(chunk) for chunk in (range(chunks) if chunks else [None])]
    weights = [weight for model in models for weight in model.parameters()]
    optimizer = torch.optim.SGD(weights, lr=0.01)
    loads = dist.get_rank(peers) == 0  # and gives its peers the batch
    make = lambda generator: torch.randint(0, WORDS, (2, SEQUENCE), generator=generator)
    batches = [loader(make, work.load, number) for number in range(len(models))]
    places = torch.arange(SEQUENCE)[None].expand(2, SEQUENCE)
    mask = torch.triu(torch.ones(1, 1, SEQUENCE, SEQUENCE), 1).bool()

    def forward(batches, model):
        tokens = None
        if model.pre_process or model.post_process:
            tokens = next(batches) if loads else torch.empty(2, SEQUENCE, dtype=torch.int64)
            dist.broadcast(tokens, group=peers, group_src=0)
        return model(tokens, places, mask, labels=tokens), lambda out: (out.float().mean(), {})

    run = get_forward_backward_func()

    def step():
        optimizer.zero_grad()
        run(
            forward_step_func=forward,
            data_iterator=batches if chunks else batches[0],
            model=models if chunks else models[0],
            num_microbatches=options["micro_batches"],
            seq_length=SEQUENCE,
            micro_batch_size=2,
            forward_only=False,
        )
        optimizer.step()

    return step


def train(rank, port, options, out):
    torch.set_num_threads(1)
    dist.init_process_group(
        "gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=RANKS
    )
    work = Work(options, rank)
    step = {"torch": torch_training, "megatron": megatron_training}[options["program"]](work)
    trace = os.path.join(out, "traces", f"rank{rank}.json.gz")
    with profile(
        activities=[ProfilerActivity.CPU],
        schedule=schedule(wait=WAIT, warmup=WARM_UP, active=options["steps"], repeat=1),
        on_trace_ready=lambda recorder: recorder.export_chrome_trace(trace),
    ) as recorder:
        for number in range(WAIT + WARM_UP + options["steps"]):
            work.is_recorded = number >= WAIT + WARM_UP
            step()
            recorder.step()
    with open(os.path.join(out, f"own{rank}.json"), "w", encoding="utf-8") as file:
        json.dump(work.own, file)
    dist.barrier()
    dist.destroy_process_group()


def run_ranks(train, options, out):
    """Runs train(rank, port, options, out) in a process a rank. Returns 1 where one fails."""
    os.makedirs(os.path.join(out, "traces"), exist_ok=True)
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    # Imports take longer than the training: ranks have those that were made before the fork.
    if options["program"] == "megatron":
        import megatron.core.models.gpt.gpt_model
    else:
        import torch.distributed.fsdp
        import torch.distributed.pipelining
        import torch.distributed.tensor.parallel
    context, port = multiprocessing.get_context("fork"), free_port()
    ranks = [
        context.Process(target=train, args=(rank, port, options, out), daemon=True)
        for rank in range(RANKS)
    ]
    for rank in ranks:
        rank.start()
    while alive := [rank.sentinel for rank in ranks if rank.is_alive()]:
        multiprocessing.connection.wait(alive)
        if any(rank.exitcode for rank in ranks):  # the others would wait for it
            break
    return 1 if any(rank.exitcode != 0 for rank in ranks) else 0


def main():
    options, out = json.loads(sys.argv[1]), sys.argv[2]
    return run_ranks(train, options, out)


if __name__ == "__main__":
    sys.exit(main())
