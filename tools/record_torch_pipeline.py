#!/usr/bin/env python3
"""Records small training runs of torch.distributed.pipelining, one Kineto trace a rank.

  record_torch_pipeline.py --out FOLDER [--only NAME ...]
  record_torch_pipeline.py --list

Four processes train over Gloo on 127.0.0.1. Each stage sleeps in operators of its own, whose names
hold the stage and the micro-batch: `pipetrace::sleep_forward_s1_m3` 10 ms, and for a backward pass
`pipetrace::sleep_backward_input_s1_m3` and `pipetrace::sleep_backward_weight_s1_m3`, 10 ms each.
So a trace itself says where each job's work was: tools/torch_pipeline_truth.py lists it.

Needs torch 2.11 and numpy. A recording is FOLDER/NAME/rank<k>.json.gz, as torch wrote it but for the
folder's path, which is cut out.
"""
import argparse
import gzip
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

RANKS = 4
MICRO_BATCHES = 8
ROWS = 4  # of a micro-batch
WIDTH = 16
FORWARD_S = 0.010
HALF_BACKWARD_S = 0.010

# name: (schedule, stages of a rank, annotations of our own, steps marked by ProfilerStep, steps)
RECORDINGS = {
    "gpipe": ("GPipe", 1, False, True, 2),
    "gpipe_inner": ("GPipe", 1, True, False, 1),
    "1f1b": ("1F1B", 1, True, True, 2),
    "1f1b_no_steps": ("1F1B", 1, True, False, 2),
    "1f1b_plain": ("1F1B", 1, False, True, 2),
    "interleaved_1f1b": ("Interleaved1F1B", 2, False, False, 2),
    "interleaved_1f1b_inner": ("Interleaved1F1B", 2, True, True, 1),
    "looped_bfs": ("LoopedBFS", 2, False, True, 1),
    "interleaved_zero_bubble": ("InterleavedZeroBubble", 2, False, True, 2),
    "zbv": ("ZBVZeroBubble", 2, False, True, 1),
    "dualpipev": ("DualPipeV", 2, False, False, 2),
}


def annotate_jobs():
    """Puts each job of a stage under an annotation of its own, after the wait for its message."""
    from torch.distributed.pipelining import PipelineStage
    from torch.profiler import record_function

    def annotated(run, letter):
        def one_chunk(stage, micro_batch, *args, **kwargs):
            kind = letter if kwargs.get("full_backward", True) else "I"
            with record_function(f"PP:{stage.stage_index}{kind}{micro_batch}"):
                return run(stage, micro_batch, *args, **kwargs)
        return one_chunk

    PipelineStage.forward_one_chunk = annotated(PipelineStage.forward_one_chunk, "F")
    PipelineStage.backward_one_chunk = annotated(PipelineStage.backward_one_chunk, "B")
    PipelineStage.backward_weight_one_chunk = annotated(PipelineStage.backward_weight_one_chunk, "W")


def leave_out_messages_to_oneself():
    """Neighbouring stages of one rank (ZBV, DualPipeV) begin with such a message; Gloo refuses it."""
    from torch.distributed.pipelining import PipelineStage
    all_ops = PipelineStage._get_init_p2p_neighbors_ops
    PipelineStage._get_init_p2p_neighbors_ops = lambda stage: [
        op for op in all_ops(stage) if op.group_peer != stage.group_rank]


def sleep_operators():
    """Returns a function that sleeps inside the operator `pipetrace::<name>`, defined when first used."""
    import torch
    library = torch.library.Library("pipetrace", "DEF")
    defined = {}

    def sleep_in(name, seconds, tensor):
        if name not in defined:
            def kernel(x):
                time.sleep(seconds)
                return x.clone()
            library.define(f"{name}(Tensor x) -> Tensor")
            library.impl(name, kernel, "CPU")
            defined[name] = getattr(torch.ops.pipetrace, name)
        return defined[name](tensor)

    return sleep_in


def stage_module(stage, sleep_in):
    """y = relu(x + w). x[0, 0] is the micro-batch's number, and y[0, 0] too, because w is 0 there.

    Inputs and weights pass through functions of their own, joined by an addition: torch splits a
    backward pass at such nodes, and refuses to at a function that is written in Python.
    """
    import torch

    class Input(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, job):
            ctx.job = job
            return sleep_in(f"sleep_forward_{job}", FORWARD_S, x)

        @staticmethod
        def backward(ctx, grad):
            return sleep_in(f"sleep_backward_input_{ctx.job}", HALF_BACKWARD_S, grad), None

    class Weight(torch.autograd.Function):
        @staticmethod
        def forward(ctx, w, job, seconds):
            ctx.job, ctx.seconds = job, seconds
            return w.clone()

        @staticmethod
        def backward(ctx, grad):
            return sleep_in(f"sleep_backward_weight_{ctx.job}", ctx.seconds, grad), None, None

    class Stage(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.w = torch.nn.Parameter(torch.zeros(WIDTH))

        def forward(self, x):
            job = f"s{stage}_m{int(x[0, 0])}"
            # A first stage has no input gradient: its weights' half takes the time of both.
            halves = 1 if x.requires_grad else 2
            return torch.relu(Input.apply(x, job) + Weight.apply(self.w, job, halves * HALF_BACKWARD_S))

    return Stage()


def stages_of(rank, schedule, per_rank):
    if per_rank == 2 and schedule in ("ZBVZeroBubble", "DualPipeV"):
        return [rank, 2 * RANKS - 1 - rank]
    return [rank + chunk * RANKS for chunk in range(per_rank)]


def train(rank, name, folder):
    import torch
    import torch.distributed as dist
    from torch.distributed.pipelining import PipelineStage
    from torch.distributed.pipelining.schedules import PipelineScheduleMulti, get_schedule_class
    from torch.profiler import ProfilerActivity, profile, schedule as profiler_schedule

    schedule_name, per_rank, inner, profiler_steps, steps = RECORDINGS[name]
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=RANKS)
    leave_out_messages_to_oneself()
    if inner:
        annotate_jobs()
    sleep_in = sleep_operators()
    example = torch.zeros(ROWS, WIDTH)
    stages = [PipelineStage(stage_module(index, sleep_in), index, RANKS * per_rank, torch.device("cpu"),
                            input_args=example, output_args=example)
              for index in stages_of(rank, schedule_name, per_rank)]
    kind = get_schedule_class(schedule_name)
    pipeline = kind(stages if issubclass(kind, PipelineScheduleMulti) else stages[0], MICRO_BATCHES,
                    loss_fn=lambda output, target: (output - target).square().mean())
    optimizer = torch.optim.SGD([p for stage in stages for p in stage.submod.parameters()], lr=0.01)
    numbers = torch.arange(MICRO_BATCHES, dtype=torch.float32).repeat_interleave(ROWS)
    batch = numbers[:, None].repeat(1, WIDTH)

    def step():
        optimizer.zero_grad()
        arguments = (batch,) if stages[0].is_first else ()
        target = batch if any(stage.is_last for stage in stages) else None
        pipeline.step(*arguments, target=target)
        for stage in stages:  # keeps the number of the micro-batch exact
            stage.submod.w.grad[0] = 0
        optimizer.step()

    step()
    dist.barrier()
    when = profiler_schedule(wait=0, warmup=1, active=steps, repeat=1) if profiler_steps else None
    with profile(activities=[ProfilerActivity.CPU], schedule=when,
                 on_trace_ready=lambda done: write_trace(done, folder / name / f"rank{rank}.json.gz")) as profiler:
        for _ in range(steps + (1 if profiler_steps else 0)):
            step()
            if profiler_steps:
                profiler.step()
    dist.barrier()
    dist.destroy_process_group()


def write_trace(profiler, path):
    path.parent.mkdir(parents=True, exist_ok=True)
    plain = path.with_suffix("")
    profiler.export_chrome_trace(str(plain))
    text = plain.read_text().replace(str(path.parent) + "/", "").replace(socket.gethostname(), "host")
    plain.unlink()
    path.write_bytes(gzip.compress(text.encode(), 9, mtime=0))


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def record(name, folder):
    """Runs the ranks; returns whether all of them ended well."""
    environment = dict(os.environ, MASTER_ADDR="127.0.0.1", MASTER_PORT=str(free_port()),
                       OMP_NUM_THREADS="1", GLOO_SOCKET_IFNAME="lo")
    ranks = [subprocess.Popen([sys.executable, __file__, "--out", str(folder), "--only", name,
                               "--rank", str(rank)], env=environment)
             for rank in range(RANKS)]
    try:
        return all([process.wait(timeout=120) == 0 for process in ranks])
    except subprocess.TimeoutExpired:
        return False
    finally:
        for process in ranks:
            process.kill()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="where the recordings go")
    parser.add_argument("--only", nargs="+", choices=RECORDINGS, metavar="NAME", help="default: all of --list")
    parser.add_argument("--list", action="store_true", help="list the names of the recordings")
    parser.add_argument("--rank", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.list:
        print("\n".join(RECORDINGS))
        return 0
    if options.out is None:
        parser.error("--out FOLDER is missing")
    folder = options.out.resolve()
    if options.rank is not None:
        train(options.rank, options.only[0], folder)
        return 0
    failed = 0
    for name in options.only or RECORDINGS:
        good = record(name, folder)
        failed += not good
        print(f"{name}: {'recorded' if good else 'FAILED'}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
