#!/usr/bin/env python3
"""What recording from Python costs: a job on the host, and a training's processor time.

  python_recording_cost.py jobs --library LIBRARY [--driver DRIVER]
  python_recording_cost.py training --library LIBRARY --python PYTHON [--pairs N] [--steps N]

`jobs` runs a function that does nothing under the hook of a forward, and without it: the difference
is a job. DRIVER is `fake-driver/libcuda.so` of the build, a made-up device; then jobs are those of a CUDA stream.
`training` trains a multi-layer perceptron under torch's Schedule1F1B: 8 layers of 1024, 8
micro-batches of 32 rows, 4 processes of one thread over Gloo. A pair is 10 blocks of steps of the
same processes, 5 of which are recorded; in the others the functions of torch have no hooks. The
processor time of all threads of all ranks counts. The mean of the logarithms of the pairs' ratios
is printed with its 95 % interval.
"""

import argparse
import ctypes
import math
import os
import pathlib
import statistics
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
T95 = {5: 2.776, 10: 2.262, 15: 2.145, 20: 2.093}  # of Student, by pairs
PROGRAM = """
import sys, time, torch, torch.distributed as dist
from torch.distributed.pipelining import PipelineStage, Schedule1F1B, schedules, stage as stages
from pipetrace.recording.session import session
pairs, steps = int(sys.argv[1]), int(sys.argv[2])
torch.set_num_threads(1)
dist.init_process_group("gloo")
rank, ranks = dist.get_rank(), dist.get_world_size()
torch.manual_seed(rank)
part = torch.nn.Sequential(*[torch.nn.Sequential(torch.nn.Linear(1024, 1024), torch.nn.ReLU())
                             for _ in range(2)])
stage = PipelineStage(part, rank, ranks, torch.device("cpu"))
schedule = Schedule1F1B(stage, 8, loss_fn=torch.nn.functional.mse_loss)
optimizer = torch.optim.SGD(part.parameters(), lr=0.01)
x = torch.randn(256, 1024)
def train():
    optimizer.zero_grad()
    schedule.step(*((x,) if rank == 0 else ()), **({"target": x} if rank == ranks - 1 else {}))
    optimizer.step()
train()
hooked = [(owner, name, function)
          for owner in (schedules, schedules._PipelineSchedule, schedules.PipelineScheduleSingle,
                        stages._PipelineStageBase)
          for name, function in list(vars(owner).items()) if hasattr(function, "_pipetrace_hook")]
assert len(hooked) > 10
sink = session.sink
def record(is_on):
    session.sink = sink if is_on else None
    for owner, name, function in hooked:
        setattr(owner, name, function if is_on else function.__wrapped__)
for pair in range(pairs):
    used = {True: 0.0, False: 0.0}
    for block in range(10):
        is_on = block % 4 in (1, 2)
        record(is_on)
        train()
        dist.barrier()
        began = time.process_time()
        for _ in range(steps): train()
        dist.barrier()
        used[is_on] += time.process_time() - began
    print("used", used[True], used[False], flush=True)
record(True)
dist.destroy_process_group()
"""


class Stage:
    """A stage that computes nothing."""

    stage_index, is_last = 1, False

    def forward_one_chunk(self, fwd_chunk_id, args, kwargs=None, save_forward_output=True):
        return args

    def plain(self, fwd_chunk_id, args, kwargs=None, save_forward_output=True):
        return args


def jobs(options):
    sys.path.insert(0, str(ROOT / "python"))
    os.environ["PIPETRACE_LIBRARY_PATH"] = os.path.dirname(options.library)
    from pipetrace.recording import hooks, torch_pipelining
    from pipetrace.recording.session import Facts, session

    facts = Facts(rank=0, world_size=1)
    if options.driver:
        driver = ctypes.CDLL(options.driver)
        driver.fakeCudaNewStream.restype = ctypes.c_void_p
        facts.cuda_stream = driver.fakeCudaNewStream()
    with tempfile.TemporaryDirectory() as folder:
        session.mode, session.folder = "record", folder
        session.knows(lambda: facts, {1: 0})
        hooks.around(
            Stage,
            "forward_one_chunk",
            torch_pipelining._forward_begins,
            torch_pipelining._forward_ends,
        )
        stage = Stage()
        session.step_begins()
        costs = []
        for _ in range(options.runs):
            times = []
            for function in (stage.plain, stage.forward_one_chunk):
                begin = time.perf_counter()
                for micro_batch in range(1000):
                    function(micro_batch & 7, (), None, save_forward_output=False)
                times.append(time.perf_counter() - begin)
                time.sleep(0.02)  # the log is written meanwhile
            costs.append((times[1] - times[0]) * 1000)
        session.close()
    low, high = statistics.quantiles(costs, n=20)[0], statistics.quantiles(costs, n=20)[-1]
    print(f"a job takes {statistics.median(costs):.2f} us of the host ({low:.2f} to {high:.2f})")


def training(options):
    if options.python != sys.executable:
        os.execv(options.python, [options.python, *sys.argv])
    sys.path.insert(0, str(ROOT / "tests" / "python" / "recording"))
    os.environ["PIPETRACE_LIBRARY_PATH"] = os.path.dirname(options.library)
    import ranks
    import torch.distributed.pipelining  # noqa: F401 (the ranks are forks of this process)

    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder, "mlp.py")
        program.write_text(PROGRAM)
        words = [program, options.pairs, options.steps]
        done = ranks.run(words, 4, pathlib.Path(folder), {}, True, 3600)
        if any(code != 0 for code, _ in done):
            sys.exit(done[0][1])
        log = ranks.Log(pathlib.Path(folder, "pipetrace-logs", "workerlog.1"))
    of_ranks = [
        [tuple(map(float, line.split()[1:])) for line in output.splitlines() if "used" in line]
        for _, output in done
    ]
    ratios = []
    for of_pair in zip(*of_ranks):
        recorded, plain = (sum(times) for times in zip(*of_pair))
        print(f"{recorded:.3f} s with, {plain:.3f} s without")
        ratios.append(math.log(recorded / plain))
    print(f"rank 1 has {len(log.jobs)} jobs and {len(log.others)} messages")
    mean = statistics.mean(ratios)
    half = T95[options.pairs] * statistics.stdev(ratios) / math.sqrt(options.pairs)
    low, high = math.exp(mean - half), math.exp(mean + half)
    print(f"{math.exp(mean):.4f} of the processor time (95 % interval {low:.4f} to {high:.4f})")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("jobs", "training"))
    parser.add_argument("--library", required=True, metavar="FILE", help="libpipetrace.so")
    parser.add_argument("--driver", metavar="FILE", help="of a made-up device")
    parser.add_argument("--runs", type=int, default=50, metavar="N", help="of 1000 jobs")
    parser.add_argument("--pairs", type=int, default=15, choices=T95)
    parser.add_argument("--steps", type=int, default=4, metavar="N", help="of a block")
    parser.add_argument("--python", default=sys.executable, metavar="FILE", help="one with torch")
    options = parser.parse_args()
    jobs(options) if options.what == "jobs" else training(options)


if __name__ == "__main__":
    main()
