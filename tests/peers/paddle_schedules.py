"""Compares our job lists with those of PaddlePaddle's pipeline passes, job by job.

Runs the passes' _create_job_list() of an unpacked wheel (pip download --no-deps paddlepaddle, then
unzip), with stand-ins for their imports; the wheel's compiled part is not needed.
"""

import argparse
import importlib.util
import os
import sys
import types
from unittest.mock import MagicMock

from our_plans import compare

SKIPPED = 77
PASSES = "paddle.distributed.passes"
PACKAGE = PASSES + ".pipeline_scheduler_pass"


class Job:
    def __init__(self, job_type):
        self.job_type = job_type
        self.micro_batch = 0

    def set_micro_batch_id(self, micro_batch):
        self.micro_batch = micro_batch

    def type(self):
        return self.job_type

    def __str__(self):
        return "%s(%d)" % (self.job_type, self.micro_batch)


class PassBase:
    def __init__(self):
        self.attributes = {}

    def get_attr(self, name, default=None):
        return self.attributes.get(name, default)

    def set_attr(self, name, value):
        self.attributes[name] = value


def load_pass(folder, file_name):
    spec = importlib.util.spec_from_file_location(
        PACKAGE + "." + file_name, os.path.join(folder, file_name + ".py")
    )
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def load_passes(folder):
    for name in (
        "paddle",
        "paddle.base",
        "paddle.framework",
        "paddle.distributed",
        "paddle.distributed.auto_parallel",
        "paddle.distributed.auto_parallel.static",
        "paddle.distributed.auto_parallel.static.utils",
        "paddle.distributed.utils",
        "paddle.distributed.utils.log_utils",
        PASSES + ".pass_utils",
    ):
        sys.modules[name] = MagicMock()
    paddle = sys.modules["paddle"]
    paddle.base = sys.modules["paddle.base"]
    paddle.base.core.Job = Job
    paddle.base.framework.get_flags = lambda flag: {flag: True}
    for name in (PASSES, PACKAGE):
        sys.modules[name] = types.ModuleType(name)
        sys.modules[name].__path__ = []
    pass_base = sys.modules[PASSES + ".pass_base"] = types.ModuleType(PASSES + ".pass_base")
    pass_base.PassBase = PassBase
    pass_base.register_pass = lambda name: lambda pass_class: pass_class
    load_pass(folder, "pipeline_pass_base")
    return {
        "FThenB": load_pass(folder, "pipeline_fthenb").PipelineFThenBPass,
        "1F1B": load_pass(folder, "pipeline_1f1b").Pipeline1F1BPass,
        "Eager1F1B": load_pass(folder, "pipeline_eager_1f1b").PipelineEager1F1BPass,
        "Interleaved1F1B": load_pass(folder, "pipeline_vpp").PipelineVirtualPipelinePass,
    }


def job_lists(pass_class, ranks, micro_batches, chunks):
    rows = []
    for rank in range(ranks):
        scheduler = pass_class()
        scheduler.set_attr("num_micro_batches", micro_batches)
        scheduler.set_attr("pp_stage", rank)
        scheduler.set_attr("pp_degree", ranks)
        scheduler.set_attr("vpp_degree", chunks)
        rows.append([str(job) for job in scheduler._create_job_list()])
    return rows


def sizes_of(name, ranks, micro_batches, chunks):
    for p in range(1, ranks + 1):
        for m in range(1, micro_batches + 1):
            if name != "Interleaved1F1B":
                yield p, m, 1
            elif m > p and m % p == 0:
                # With as many micro-batches as ranks VPP does all forwards first, where Megatron-LM
                # and torch alternate; a rest it gives to the wrong chunks.
                for v in range(2, chunks + 1):
                    yield p, m, v


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("print_plans")
    parser.add_argument("paddle", nargs="?", default="", help="where the wheel is unpacked")
    arguments = parser.parse_args()
    folder = os.path.join(
        arguments.paddle, "paddle/distributed/passes/pipeline_scheduler_pass"
    )
    if not os.path.exists(folder):
        print("skipped: no PaddlePaddle in %r; set PIPETRACE_PADDLE_DIR" % arguments.paddle)
        return SKIPPED

    failures = 0
    for name, pass_class in load_passes(folder).items():
        lists = {}
        for size in sizes_of(name, 8, 24, 4):
            try:
                lists[(name, *size)] = job_lists(pass_class, *size)
            except AssertionError:
                pass  # a size that the pass refuses
        transfers = name in ("1F1B", "Interleaved1F1B")
        option = "--paddle-jobs-and-transfers" if transfers else "--paddle-jobs"
        different = compare([arguments.print_plans, option], lists)
        print("%s: %d sizes, %d differ" % (name, len(lists), different))
        if different or not lists:
            failures += 1
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
