#!/usr/bin/env python3
"""Records a training of Megatron-core under its combined 1F1B schedule, on processors over Gloo.

  record_megatron_combined.py --out FOLDER [--stages N] [--chunks N] [--micro-batches N] [--layers N]

Needs a Python with torch 2.11, numpy and megatron-core 0.16.1. It starts a process for each stage and
writes rank<R>.json.gz, as torch.profiler does, of one step without any annotation. Beside them it writes
truth.csv, in the columns of ../shared/data/unannotated: when each call of Megatron's
combined_forward_backward_step() ran, and on what. The kind of a call with both halves is its cell in a
schedule file. Layers sleep for 2 ms forward and 4 ms backward, so that two processes fit one processor.

The schedule (--overlap-moe-expert-parallel-comm) is made for GPUs. So calls of CUDA do nothing here, and
the layers of experts take the path without Transformer Engine.
"""
import argparse
import contextlib
import gzip
import json
import os
import subprocess
import sys
import time
from pathlib import Path

SLEEP = 0.002
SEQUENCE = 32
WORDS = 128
STEP = 2  # the recorded one: others come before it


class Nothing:
    """A stream or an event of a device that is not there."""

    def __init__(self, *_, **__):
        pass

    def __getattr__(self, name):
        return lambda *_, **__: Nothing()


def without_cuda():
    """Lets Megatron's calls of CUDA do nothing."""
    import torch
    from torch.overrides import TorchFunctionMode

    class OnProcessor(TorchFunctionMode):
        def __torch_function__(self, function, types, args=(), kwargs=None):
            kwargs = dict(kwargs or {})
            if str(kwargs.get("device", "")).startswith("cuda"):
                kwargs["device"] = "cpu"
            return function(*args, **kwargs)

    OnProcessor().__enter__()
    cuda = torch.cuda
    cuda.current_device = lambda: "cpu"
    cuda.synchronize = cuda.set_device = lambda *_: None
    cuda.current_stream = lambda *_: Nothing()
    cuda.Stream = cuda.Event = Nothing
    cuda.stream = lambda _: contextlib.nullcontext()
    cuda.nvtx.range_push = cuda.nvtx.range_pop = lambda *_: None
    torch.Tensor.record_stream = lambda self, _: None
    torch.Tensor.cuda = torch.nn.Module.cuda = lambda self, *_, **__: self


def sleeping_layers():
    """Lets each layer sleep, so that ranks wait for each other and not for a processor."""
    import torch
    from megatron.core.transformer.mlp import MLP

    class Sleep(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            time.sleep(SLEEP)
            return x.clone()

        @staticmethod
        def backward(ctx, gradient):
            time.sleep(2 * SLEEP)
            return gradient.clone()

    forward = MLP.forward

    def slower(self, *args, **kwargs):
        output, *others = forward(self, *args, **kwargs)
        return (Sleep.apply(output), *others)

    MLP.forward = slower


class Truth:
    """Notes what Megatron's function of a step of the schedule works on, and when."""

    def __init__(self, stages, rank):
        from megatron.core.pipeline_parallel import combined_1f1b

        self.stages, self.rank = stages, rank
        self.rows = []
        self.step = 0
        self.outputs = {}  # by identity: the output, and whose it is
        self.run = combined_1f1b.combined_forward_backward_step
        combined_1f1b.combined_forward_backward_step = self.call

    def call(self, *args, **kwargs):
        # By place: 2 is the model of the forward, 6 that of the backward, 8 the output of its forward.
        output = args[8][0] if isinstance(args[8], list) else args[8]
        backward = self.outputs.pop(id(output))[1] if args[6] is not None else None
        begin = time.time_ns()
        result = self.run(*args, **kwargs)
        end = time.time_ns()
        forward = None
        if args[2] is not None:
            forward = (kwargs.get("f_model_chunk_id") or 0, kwargs["current_microbatch"])
            made = result[0][0] if isinstance(result[0], list) else result[0]
            self.outputs[id(made)] = made, forward
        self.rows.append((self.step, forward, backward, begin, end))
        return result

    def lines(self):
        for step, forward, backward, begin, end in self.rows:
            if step != STEP:
                continue
            kind = "forward" if backward is None else "backward"
            if forward and backward:
                kind = "({}F{};{}B{})OVERLAP_F_B".format(
                    self.stage(forward), forward[1], self.stage(backward), backward[1])
            job = forward or backward
            yield f"{self.rank},{step},{kind},{self.stage(job)},{job[0]},{job[1]},{begin},{end}\n"

    def stage(self, job):
        return job[0] * self.stages + self.rank


def train(options):
    import torch
    import torch.distributed as dist

    without_cuda()
    from megatron.core import parallel_state
    from megatron.core.models.gpt import fine_grained_callables
    from megatron.core.models.gpt.gpt_layer_specs import get_gpt_layer_local_spec
    from megatron.core.models.gpt.gpt_model import GPTModel
    from megatron.core.pipeline_parallel import get_forward_backward_func
    from megatron.core.tensor_parallel import random
    from megatron.core.transformer.moe import moe_utils
    from megatron.core.transformer.transformer_config import TransformerConfig
    from torch.profiler import ProfilerActivity, profile, schedule

    random.CudaRNGStatesTracker.fork = lambda self, *_, **__: contextlib.nullcontext()
    moe_utils.te_general_gemm = None
    fine_grained_callables.should_free_input = lambda *_: False
    sleeping_layers()

    dist.init_process_group("gloo")
    rank = dist.get_rank()
    parallel_state.initialize_model_parallel(
        1, options.stages, virtual_pipeline_model_parallel_size=options.chunks)
    torch.manual_seed(1)
    torch.set_num_threads(1)
    config = TransformerConfig(
        num_layers=options.layers, hidden_size=64, num_attention_heads=4, use_cpu_initialization=True,
        pipeline_dtype=torch.float32, pipeline_model_parallel_size=options.stages,
        virtual_pipeline_model_parallel_size=options.chunks, hidden_dropout=0.0, attention_dropout=0.0,
        gradient_accumulation_fusion=False, bias_dropout_fusion=False, masked_softmax_fusion=False,
        persist_layer_norm=False, deallocate_pipeline_outputs=False, batch_p2p_comm=True,
        overlap_p2p_comm=False, num_moe_experts=2, moe_token_dispatcher_type="alltoall",
        moe_router_topk=1, moe_router_pre_softmax=True, moe_aux_loss_coeff=0.0, add_bias_linear=False)
    config.overlap_moe_expert_parallel_comm = True  # its checks ask for several ranks of experts

    def chunk(number):
        at = {"ignore_virtual": False, "vp_stage": number}
        return GPTModel(
            config, get_gpt_layer_local_spec(num_experts=2), vocab_size=WORDS, max_sequence_length=SEQUENCE,
            pre_process=parallel_state.is_pipeline_first_stage(**at),
            post_process=parallel_state.is_pipeline_last_stage(**at), vp_stage=number)

    models = [chunk(number) for number in range(options.chunks)]
    optimizer = torch.optim.SGD([p for model in models for p in model.parameters()], lr=0.01)

    def batches():
        while True:
            yield torch.randint(0, WORDS, (2, SEQUENCE))

    def forward_step(batch, model, return_schedule_plan=False):
        tokens = next(batch)
        places = torch.arange(SEQUENCE)[None].expand(2, SEQUENCE)
        mask = torch.triu(torch.ones(1, 1, SEQUENCE, SEQUENCE), 1).bool()
        run = model.build_schedule_plan if return_schedule_plan else model
        return run(tokens, places, mask, labels=tokens), lambda out: (out.float().mean(), {})

    truth = Truth(options.stages, rank)
    run_step = get_forward_backward_func()

    def write_trace(recorder):
        path = Path(options.out, f"rank{rank}.json.gz")
        recorder.export_chrome_trace(str(path))
        trace = json.loads(gzip.decompress(path.read_bytes()))
        del trace["traceName"]  # a path of this machine
        text = json.dumps(trace, separators=(",", ":")).encode()
        path.write_bytes(gzip.compress(text, mtime=0))

    with profile(activities=[ProfilerActivity.CPU], schedule=schedule(wait=1, warmup=1, active=1, repeat=1),
                 on_trace_ready=write_trace) as recorder:
        for truth.step in range(STEP + 2):
            truth.outputs.clear()
            optimizer.zero_grad()
            run_step(forward_step_func=forward_step, data_iterator=[batches() for _ in models], model=models,
                     num_microbatches=options.micro_batches, seq_length=SEQUENCE, micro_batch_size=2,
                     forward_only=False)
            optimizer.step()
            recorder.step()
    Path(options.out, f"truth{rank}.csv").write_text("".join(truth.lines()), encoding="utf-8")
    dist.destroy_process_group()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True, metavar="FOLDER")
    parser.add_argument("--stages", type=int, default=2, metavar="N", help="pipeline ranks (default: 2)")
    parser.add_argument("--chunks", type=int, default=2, metavar="N", help="of a rank, at least 2 (default: 2)")
    parser.add_argument("--micro-batches", type=int, default=4, metavar="N", help="of a step (default: 4)")
    parser.add_argument("--layers", type=int, default=4, metavar="N", help="of the model (default: 4)")
    options = parser.parse_args()
    if "RANK" in os.environ:
        return train(options)
    out = Path(options.out)
    out.mkdir(parents=True, exist_ok=True)
    ranks = [subprocess.Popen([sys.executable, *sys.argv], env={
        **os.environ, "RANK": str(rank), "WORLD_SIZE": str(options.stages), "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": "29517", "OMP_NUM_THREADS": "1"}) for rank in range(options.stages)]
    if any([rank.wait() for rank in ranks]):
        return "record_megatron_combined: a rank failed"
    parts = [out / f"truth{rank}.csv" for rank in range(options.stages)]
    text = "rank,step,kind,stage,chunk,micro_batch,begin_ns,end_ns\n"
    Path(out, "truth.csv").write_text(text + "".join(part.read_text() for part in parts), encoding="utf-8")
    for part in parts:
        part.unlink()
    return None


if __name__ == "__main__":
    sys.exit(main())
