"""Compares our plans cell by cell with torch.distributed.pipelining's, for sizes that it accepts.

Only schedules.py and _utils.py of the installed wheel are run, and only the parts that lay out the
order; importing torch itself needs CUDA's libraries.
"""

import argparse
import glob
import importlib.util
import os
import sys
import types
from unittest.mock import MagicMock

from our_plans import compare

SKIPPED = 77
PACKAGE = "torch.distributed.pipelining"


def find_folder(environment):
    for site_packages in ("", "lib/python3*/site-packages"):
        pattern = os.path.join(environment, site_packages, "torch/distributed/pipelining")
        for folder in glob.glob(pattern):
            return folder
    return None


def load_schedules(folder):
    for name in (
        "torch",
        "torch._dynamo",
        "torch.distributed",
        "torch.distributed.fsdp",
        "torch.fx",
        "torch.nn",
        "torch.nn.modules",
        "torch.nn.modules.loss",
        "torch.profiler",
    ):
        sys.modules[name] = MagicMock()
    sys.modules["torch"].nn.Module = type("Module", (), {})
    package = types.ModuleType(PACKAGE)
    package.__path__ = [folder]
    sys.modules[PACKAGE] = package
    for name in ("microbatch", "stage"):
        sys.modules[PACKAGE + "." + name] = MagicMock()
    for name in ("_utils", "schedules"):
        path = os.path.join(folder, name + ".py")
        spec = importlib.util.spec_from_file_location(PACKAGE + "." + name, path)
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
    return sys.modules[PACKAGE + ".schedules"]


class Stage:
    """The part of a pipeline stage that the schedules use."""

    def __init__(self, stage_index, ranks, num_stages, rank=0):
        self.stage_index = stage_index
        self.group_size = ranks
        self.group_rank = rank
        self.group = None
        self.num_stages = num_stages
        self.is_first = stage_index == 0
        self.is_last = stage_index == num_stages - 1
        self.device = None
        self.submod = None
        self.has_backward = True


class RecordingStage(Stage):
    """Notes the actions of a schedule of one stage per rank, and sends no message."""

    def __init__(self, stage_index, num_stages):
        super().__init__(stage_index, num_stages, num_stages, rank=stage_index)
        self.row = []

    def forward_one_chunk(self, micro_batch, *_args, **_options):
        self.row.append("%dF%d" % (self.stage_index, micro_batch))

    def backward_one_chunk(self, micro_batch, **_options):
        self.row.append("%dB%d" % (self.stage_index, micro_batch))

    def __getattr__(self, name):
        return lambda *_args: []


def single(schedule_class):
    """The order that step() runs: _get_pipeline_order() of Schedule1F1B, which is for display only,
    leaves micro-batch 0 out on the last rank."""

    def build(ranks, micro_batches, chunks):
        if chunks != 1:
            raise ValueError("one stage a rank")
        rows = []
        for rank in range(ranks):
            stage = RecordingStage(rank, ranks)
            schedule = schedule_class(stage, micro_batches)
            schedule._check_inputs = lambda *_: ([()] * micro_batches, [{}] * micro_batches)
            schedule._step_microbatches()
            rows.append(stage.row)
        return rows

    return build


def cells(row):
    """Their row as a schedule file has it; bubbles carry no meaning there."""
    return [str(action) for action in row if action is not None]


def multi(schedule_class):
    def build(ranks, micro_batches, chunks):
        num_stages = ranks * chunks
        # How many there are is all that matters: the order is laid out for every rank.
        stages = [Stage(stage, ranks, num_stages) for stage in range(0, num_stages, ranks)]
        schedule = schedule_class(stages, micro_batches)
        return [cells(schedule.pipeline_order[rank]) for rank in range(ranks)]

    return build


def grid(arguments):
    for ranks in range(1, arguments.ranks + 1):
        for micro_batches in range(1, arguments.micro_batches + 1):
            for chunks in range(1, arguments.chunks + 1):
                yield ranks, micro_batches, chunks
    for size in ((12, 50, 1), (16, 64, 2), (16, 80, 3), (7, 93, 5)):
        yield size


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("print_plans")
    parser.add_argument("torch", help="a Python environment with torch, or its site-packages")
    parser.add_argument("--ranks", type=int, default=8)
    parser.add_argument("--micro-batches", type=int, default=24)
    parser.add_argument("--chunks", type=int, default=4)
    arguments = parser.parse_args()
    folder = find_folder(arguments.torch)
    if folder is None:
        print("skipped: no torch in %r; tools/setup.sh installs it" % arguments.torch)
        return SKIPPED

    schedules = load_schedules(folder)
    builders = {
        "FThenB": single(schedules.ScheduleGPipe),
        "1F1B": single(schedules.Schedule1F1B),
        "Interleaved1F1B": multi(schedules.ScheduleInterleaved1F1B),
        "LoopedBFS": multi(schedules.ScheduleLoopedBFS),
        "InterleavedZeroBubble": multi(schedules.ScheduleInterleavedZeroBubble),
        "DualPipeV": multi(schedules.ScheduleDualPipeV),
    }
    failures = 0
    for name, build in builders.items():
        plans = {}
        for size in grid(arguments):
            try:
                plans[(name, *size)] = build(*size)
            except ValueError:
                pass  # a size that torch refuses
        different = compare([arguments.print_plans], plans)
        print("%s: %d sizes, %d differ" % (name, len(plans), different))
        if different or not plans:
            failures += 1
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
