"""A small real training of four ranks on processors, which real_runs.py starts.

    train_with_fault.py OPTIONS OUT

OPTIONS is JSON, as real_runs.py draws it. The training is that of ../hybrid/train_over_gloo.py. It
runs twice in a row, `steps` steps each: first sound, then with its fault. The steps with the fault
are recorded. Rank R writes OUT/traces/rank<R>.json.gz, the trace of torch.profiler, and
OUT/measured<R>.json, what it measured of itself, of both parts (`sound`, `faulty`):

- `steps`: [begin of the first job, end] of each step, in ns of the machine's clock
- `own`: what each stage computed itself, {"stage": seconds}: its sleeps, and the processor time of
  its thread in the rest of its jobs
- `loads`, `pauses`: how long they took, in seconds
- `asked`, `slept`: how long all sleeps should have been, and were, in seconds

Before that some steps measure the stages, and their sleeps are made so that all stages compute for
the same time: Megatron's last one has more to do than others. torch.profiler also runs in the sound
steps, whose events are thrown away. So what it costs is in both parts.
"""

import contextlib
import json
import os
import statistics
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "hybrid"))

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
from torch.profiler import ProfilerActivity, profile, record_function, schedule  # noqa: E402

import train_over_gloo  # noqa: E402

WARM_UP = 1  # steps before those that count, in both parts
BALANCING = 2  # steps that measure the stages


class Part:
    """What was measured in the steps of one part."""

    def __init__(self):
        self.steps, self.own = [], {}
        self.loads, self.pauses = [], []
        self.asked = self.slept = 0.0


class Work(train_over_gloo.Work):
    """A rank's work, whose fault can be switched on, and what was measured."""

    def __init__(self, options, rank):
        super().__init__(options, rank)
        self.balance = {}  # by stage: seconds that a layer takes more or less
        self.is_faulty = False
        self.step = -1  # of the part; below 0: it does not count
        self.place = 0  # of the job in its step
        self.first_job = None
        self.part = Part()

    def layer_seconds(self, stage):
        seconds = self.options["layer_ms"] / 1000 + self.balance.get(stage, 0.0)
        slow_rank = self.fault["kind"] == "slow_rank" and self.rank in self.fault["ranks"]
        slow_stage = self.fault["kind"] == "slow_stage" and stage in self.fault["stages"]
        return seconds * (
            self.fault["factor"] if self.is_faulty and (slow_rank or slow_stage) else 1
        )

    def sleep(self, seconds):
        slept = self.slept
        super().sleep(seconds)
        self.part.asked += seconds
        self.part.slept += self.slept - slept

    def wait(self, seconds, kept):
        """Sleeps for something that no job computes."""
        slept = self.slept
        self.sleep(seconds)
        kept.append(self.slept - slept)
        self.slept = slept

    def load(self):
        if self.is_faulty and self.rank in self.fault.get("loaders", ()):
            self.wait(self.fault["ms"] / 1000, self.part.loads)

    def job(self, kind, stage, micro_batch):
        if self.first_job is None:
            self.first_job = time.perf_counter_ns()
        place, self.place = self.place, self.place + 1
        places = self.fault.get("places", {}).get(str(self.rank), ())
        if self.is_faulty and [self.step, place] in places:
            self.wait(self.fault["ms"] / 1000, self.part.pauses)
        return super().job(kind, stage, micro_batch)

    def make_stages_alike(self):
        """By what they computed in the steps before."""
        of_ranks = [None] * train_over_gloo.RANKS
        dist.all_gather_object(of_ranks, self.own)
        of_stages = {}
        for own in of_ranks:
            for stage, seconds in own.items():
                of_stages.setdefault(stage, []).append(seconds)
        means = {stage: sum(own) / len(own) for stage, own in of_stages.items()}
        target = statistics.median(means.values())
        layers = self.options["layers"] // len(means) * self.options["micro_batches"] * BALANCING
        for stage, seconds in means.items():
            self.balance[stage] = (target - seconds) / (3 * layers)  # 1 forward, 2 backward

    def save(self, out):
        """A checkpoint on a slow disk, for which all ranks wait."""
        path = os.path.join(out, "checkpoint%d" % self.rank)
        torch.save({"step": self.step, "weights": torch.zeros(1 << 16)}, path)
        self.wait(self.fault["ms"] / 1000, self.part.pauses)
        dist.barrier()
        os.remove(path)

    def begin_part(self, is_faulty):
        self.part = Part()
        self.own = self.part.own
        self.is_faulty = is_faulty

    def begin_step(self, step):
        self.step, self.place, self.first_job = step, 0, None
        self.is_recorded = step >= 0

    def end_step(self):
        if self.step >= 0:
            self.part.steps.append([self.first_job, time.perf_counter_ns()])


def train(rank, port, options, out):
    torch.set_num_threads(1)
    dist.init_process_group(
        "gloo",
        init_method=f"tcp://127.0.0.1:{port}",
        rank=rank,
        world_size=train_over_gloo.RANKS,
    )
    work = Work(options, rank)
    make = {
        "torch": train_over_gloo.torch_training,
        "megatron": train_over_gloo.megatron_training,
    }[options["program"]]
    step = make(work)
    for number in range(-WARM_UP, BALANCING):
        work.begin_step(number)
        step()
    work.make_stages_alike()
    trace = os.path.join(out, "traces", f"rank{rank}.json.gz")

    def keep(recorder):
        if work.is_faulty:
            recorder.export_chrome_trace(trace)

    measured = {}
    plan = schedule(wait=0, warmup=WARM_UP, active=options["steps"], repeat=2)
    with profile(activities=[ProfilerActivity.CPU], schedule=plan, on_trace_ready=keep) as recorder:
        for part in ("sound", "faulty"):
            dist.barrier()
            work.begin_part(part == "faulty")
            for number in range(-WARM_UP, options["steps"]):
                work.begin_step(number)
                step()
                work.end_step()
                if work.is_faulty and number in work.fault.get("saves", ()):
                    name = record_function("save_checkpoint")
                    with name if options["annotated"] else contextlib.nullcontext():
                        work.save(out)
                recorder.step()
            measured[part] = work.part.__dict__
    with open(os.path.join(out, f"measured{rank}.json"), "w", encoding="utf-8") as file:
        json.dump(measured, file)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    sys.exit(train_over_gloo.run_ranks(train, json.loads(sys.argv[1]), sys.argv[2]))
